import numpy as np


def forward(args, *, iou_threshold, score_threshold, max_output):
    boxes, scores = args
    n = len(boxes)
    limit = n if max_output < 0 else max_output
    candidates = scores > score_threshold
    # A stable sort, so that of equal scores the first box comes first.
    order = np.argsort(-scores, kind="mergesort")
    areas = np.maximum(boxes[:, 2] - boxes[:, 0], 0) * np.maximum(boxes[:, 3] - boxes[:, 1], 0)
    # Compared with these, overlaps are compared with the threshold without a division, which may be by 0.
    thresholds = areas * iou_threshold
    indices = np.full(n, -1, np.int32)
    count = 0
    for i in order:
        if count >= limit:
            break
        if not candidates[i]:
            continue
        is_free = True
        for at in range(count):
            j = indices[at]
            shared = _overlap(boxes[i], boxes[j])
            if shared > thresholds[i] + thresholds[j] - shared * iou_threshold:
                is_free = False
                break
        if is_free:
            indices[count] = i
            count += 1
    return indices, np.full(1, count, np.int32)


def _overlap(a, b):
    """The area that two boxes share."""
    width = min(a[2], b[2]) - max(a[0], b[0])
    height = min(a[3], b[3]) - max(a[1], b[1])
    return max(width, 0) * max(height, 0)
