package slots

import (
	"os"
	"testing"
)

func TestFreeMemory(t *testing.T) {
	const meminfo = "MemTotal: 100 kB\nMemAvailable:    40 kB\n"
	cases := map[string]struct {
		files map[string]string
		free  int64
		known bool
	}{
		"the machine's, where no group limits it": {map[string]string{"/proc/meminfo": meminfo}, 40 << 10, true},
		"the group's, where that is less": {map[string]string{
			"/proc/meminfo": meminfo, "/proc/self/cgroup": "0::/pod/run\n",
			"/sys/fs/cgroup/pod/run/memory.max": "max\n", "/sys/fs/cgroup/pod/run/memory.current": "5\n",
			"/sys/fs/cgroup/pod/memory.max": "1000\n", "/sys/fs/cgroup/pod/memory.current": "400\n",
		}, 600, true},
		"the group's with its page cache, which makes room": {map[string]string{
			"/proc/self/cgroup": "0::/pod\n", "/sys/fs/cgroup/pod/memory.max": "1000\n", "/sys/fs/cgroup/pod/memory.current": "990\n",
			"/sys/fs/cgroup/pod/memory.stat": "anon 300\nfile 650\nshmem 50\ninactive_file 400\nactive_file 200\nslab_reclaimable 20\nslab 40\n",
		}, 630, true},
		"unknown, where neither is told": {nil, 0, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			free, known := freeMemory(func(path string) ([]byte, error) {
				if content, ok := c.files[path]; ok {
					return []byte(content), nil
				}
				return nil, os.ErrNotExist
			})
			if free != c.free || known != c.known {
				t.Errorf("%d, %v; want %d, %v", free, known, c.free, c.known)
			}
		})
	}
}
