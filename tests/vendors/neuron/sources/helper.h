#define HELPER_GAP 2
