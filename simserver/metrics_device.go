package simserver

import (
	"bytes"
	"fmt"
	"net/http"
)

const (
	devices   = 2
	deviceMiB = 65536 // memory of one
	weights   = 0.4   // share of it that the model takes; the KV cache has the next 0.5
)

// devicePage answers as an exporter of the devices: they are as busy as slots are taken,
// hold the model and the KV cache in use, and draw power accordingly.
func (s *Server) devicePage(w http.ResponseWriter, r *http.Request, node Node) {
	st, _ := s.metrics.since(node, s.engine.Stats())
	busy := min(1, float64(st.Running)/float64(s.o.Slots))
	used := deviceMiB * (weights + 0.5*min(1, float64(st.UsedTokens)/float64(s.kvTokens())))
	// Labels and stamps as the exporters' own manuals show them: the NPU Exporter gives
	// the time at which it asked each chip.
	label, stamp := "gpu=\"%[1]d\",UUID=\"GPU-5e1f-%[1]d\",device=\"nvidia%[1]d\",modelName=\"simulated\"", ""
	values := []struct {
		name, help string
		v          float64
	}{
		{"DCGM_FI_DEV_GPU_UTIL", "GPU utilization (in %).", 100 * busy},
		{"DCGM_FI_DEV_FB_USED", "Framebuffer memory used (in MiB).", used},
		{"DCGM_FI_DEV_FB_FREE", "Framebuffer memory free (in MiB).", deviceMiB - used},
		{"DCGM_FI_DEV_POWER_USAGE", "Power draw (in W).", 90 + 310*busy},
		{"DCGM_FI_DEV_GPU_TEMP", "GPU temperature (in C).", 35 + 30*busy},
	}
	if node == NodeNPU {
		label = `container_name="",id="%[1]d",model_name="simulated",namespace="",pcie_bus_info="0000:C%[1]d:00.0",pod_name="",vdie_id="51A2-%[1]d"`
		stamp = fmt.Sprintf(" %d", s.clk.Wall().UnixMilli())
		for i, x := range []struct{ name, help string }{
			{"npu_chip_info_utilization", "the ai core utilization, unit is '%'"},
			{"npu_chip_info_hbm_used_memory", "the npu hbm used memory, unit is 'MB'"},
			{"npu_chip_info_hbm_total_memory", "the npu hbm total memory, unit is 'MB'"},
			{"npu_chip_info_power", "the npu power, unit is 'W'"},
			{"npu_chip_info_temperature", "the npu temperature, unit is 'C'"},
		} {
			values[i].name, values[i].help = x.name, x.help
		}
		values[2].v = deviceMiB
	}
	var b bytes.Buffer
	if node == NodeNPU {
		fmt.Fprintf(&b, "# HELP machine_npu_nums Amount of npu installed on the machine.\n# TYPE machine_npu_nums gauge\nmachine_npu_nums %d\n", devices)
	}
	for _, x := range values {
		fmt.Fprintf(&b, "# HELP %s %s\n# TYPE %s gauge\n", x.name, x.help, x.name)
		for i := range devices {
			fmt.Fprintf(&b, "%s{%s} %g%s\n", x.name, fmt.Sprintf(label, i), x.v, stamp)
		}
	}
	s.faultyPage(w, r, node, b.Bytes())
}
