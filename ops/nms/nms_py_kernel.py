import numpy as np


def forward(args, outs, *, iou_threshold, score_threshold, max_output):
    (boxes, scores), (indices, count) = args, outs
    n = len(scores)
    limit = n if max_output < 0 else max_output
    iou = boxes.dtype.type(iou_threshold)
    # The sort is stable: of boxes with equal scores, the first comes first.
    order = _sorted(scores, score_threshold)
    # The kept boxes, and their terms of the threshold. Comparing without a division avoids a division by 0.
    kept, thresholds = np.empty((n, 4), boxes.dtype), np.empty(n, boxes.dtype)
    c = 0
    for at in range(len(order)):
        if c >= limit:
            break
        i = order[at]
        x0, y0, x1, y1 = boxes[i, 0], boxes[i, 1], boxes[i, 2], boxes[i, 3]
        threshold = max(x1 - x0, 0) * max(y1 - y0, 0) * iou
        is_free = True
        for k in range(c):
            width = min(x1, kept[k, 2]) - max(x0, kept[k, 0])
            height = min(y1, kept[k, 3]) - max(y0, kept[k, 1])
            shared = max(width, 0) * max(height, 0)
            if shared > threshold + thresholds[k] - shared * iou:
                is_free = False
                break
        if is_free:
            kept[c, 0], kept[c, 1], kept[c, 2], kept[c, 3] = x0, y0, x1, y1
            thresholds[c] = threshold
            indices[c] = i
            c += 1
    for at in range(c, n):
        indices[at] = -1
    count[0] = c


def _sorted(scores, least):
    """Positions of the scores above `least`, highest first, equal scores in their order."""
    places, m = np.empty(len(scores), np.int64), 0
    for i in range(len(scores)):
        if scores[i] > least:
            places[m] = i
            m += 1
    places = places[:m]
    merged = np.empty(m, np.int64)
    width = 1
    while width < m:
        for begin in range(0, m, 2 * width):
            middle, end = min(begin + width, m), min(begin + 2 * width, m)
            i, j = begin, middle
            for at in range(begin, end):
                if j >= end or (i < middle and scores[places[i]] >= scores[places[j]]):
                    merged[at] = places[i]
                    i += 1
                else:
                    merged[at] = places[j]
                    j += 1
        places, merged = merged, places
        width *= 2
    return places
