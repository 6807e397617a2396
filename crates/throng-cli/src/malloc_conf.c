/* Settings of jemalloc, in the binary itself: every way to build it gives the same allocator. Freed memory is given back
 * soon, so that a process stays within its memory limit. It is taken in huge pages: a table is touched from one end to the
 * other, and the system would hand out a quarter of a million small ones. */
const char *_rjem_malloc_conf = "narenas:4,dirty_decay_ms:1000,muzzy_decay_ms:0,thp:always";
