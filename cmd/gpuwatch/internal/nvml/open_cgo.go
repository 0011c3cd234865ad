//go:build cgo && linux

package nvml

import (
	"encoding/binary"
	"fmt"
	"math"

	gonvml "github.com/NVIDIA/go-nvml/pkg/nvml"

	"hydrant/formats"
)

// Open loads the driver's library and initialises it.
func Open() (Library, error) {
	l := gonvml.New()
	switch ret := l.Init(); ret {
	case gonvml.SUCCESS:
	case gonvml.ERROR_LIBRARY_NOT_FOUND:
		return nil, &UnavailableError{What: "libnvidia-ml.so.1: not found", Help: "install NVIDIA's driver, or start the container with its runtime; " + optional}
	case gonvml.ERROR_DRIVER_NOT_LOADED:
		return nil, &UnavailableError{What: "NVIDIA's driver is not loaded", Help: "modprobe nvidia loads it; " + optional}
	case gonvml.ERROR_LIB_RM_VERSION_MISMATCH:
		return nil, &UnavailableError{What: "the library and the loaded driver are of different versions", Help: "reboot, or load the driver anew; " + optional}
	default:
		return nil, &UnavailableError{What: "init: " + ret.Error(), Help: optional}
	}
	lib := &library{l: l}
	lib.driver, _ = l.SystemGetDriverVersion()
	return lib, nil
}

type library struct {
	l      gonvml.Interface
	driver string
}

func (l *library) Driver() string { return l.driver }

func (l *library) Close() error {
	if ret := l.l.Shutdown(); ret != gonvml.SUCCESS {
		return fmt.Errorf("nvml: shutdown: %s", ret.Error())
	}
	return nil
}

// has reports whether the driver's library has a function. Calling one it lacks
// would end the process.
func (l *library) has(symbol string) bool { return l.l.Extensions().LookupSymbol(symbol) == nil }

func (l *library) Devices() ([]Device, error) {
	n, ret := l.l.DeviceGetCount()
	if ret != gonvml.SUCCESS {
		return nil, &UnavailableError{What: "count of devices: " + ret.Error(), Help: optional}
	}
	if n == 0 {
		return nil, noDevices()
	}
	var ds []Device
	for i := range n {
		d, err := l.device(i)
		if err != nil {
			return nil, err
		}
		ds = append(ds, d)
	}
	return ds, nil
}

func (l *library) device(i int) (*device, error) {
	h, ret := l.l.DeviceGetHandleByIndex(i)
	if ret != gonvml.SUCCESS {
		return nil, fmt.Errorf("nvml: device %d: %s", i, ret.Error())
	}
	d := &device{
		d: h, id: Identity{Index: int64(i)},
		mig:     l.has("nvmlDeviceGetMigMode"),
		memory2: l.has("nvmlDeviceGetMemoryInfo_v2"),
		energy:  l.has("nvmlDeviceGetTotalEnergyConsumption"),
		events:  l.has("nvmlDeviceGetCurrentClocksEventReasons"),
		reasons: l.has("nvmlDeviceGetCurrentClocksThrottleReasons"),
		fields:  l.has("nvmlDeviceGetFieldValues"),
	}
	if d.id.UUID, ret = h.GetUUID(); ret != gonvml.SUCCESS {
		return nil, fmt.Errorf("nvml: device %d: uuid: %s", i, ret.Error())
	}
	d.id.Name, _ = h.GetName()
	var r Reading
	if err := d.memory(&r); err != nil {
		return nil, fmt.Errorf("nvml: device %d: %w", i, err)
	}
	if err := d.power(&r); err != nil {
		return nil, fmt.Errorf("nvml: device %d: %w", i, err)
	}
	d.id.MemoryTotalBytes, d.id.PowerLimitMW = r.MemoryTotalBytes, r.PowerLimitMW
	return d, nil
}

// device is one device, and which of the newer functions may be called for it.
type device struct {
	d                                             gonvml.Device
	id                                            Identity
	mig, memory2, energy, events, reasons, fields bool
}

func (d *device) Identity() Identity { return d.id }

func (d *device) Read() (r Reading, err error) {
	for _, query := range []func(*Reading) error{d.utilization, d.memory, d.power, d.energyUsed, d.heat, d.clocks, d.throttle, d.counters} {
		if err := query(&r); err != nil {
			return Reading{}, err
		}
	}
	return r, nil
}

// ok sorts the results of a query: true for a value; for none false, with an
// error when the device is lost, and a note when it was not simply unsupported.
func ok(r *Reading, query string, ret gonvml.Return) (bool, error) {
	switch ret {
	case gonvml.SUCCESS:
		return true, nil
	case gonvml.ERROR_NOT_SUPPORTED, gonvml.ERROR_FUNCTION_NOT_FOUND:
		return false, nil
	case gonvml.ERROR_GPU_IS_LOST, gonvml.ERROR_RESET_REQUIRED, gonvml.ERROR_GPU_NOT_FOUND:
		return false, ErrLost
	}
	r.Failed = append(r.Failed, failed(query, ret.Error()))
	return false, nil
}

// utilization is null in MIG mode: the whole card has none there, and some
// drivers say 0.
func (d *device) utilization(r *Reading) error {
	if d.mig {
		if now, _, ret := d.d.GetMigMode(); ret == gonvml.SUCCESS && now == gonvml.DEVICE_MIG_ENABLE {
			return nil
		}
	}
	u, ret := d.d.GetUtilizationRates()
	good, err := ok(r, "utilization", ret)
	if good {
		r.UtilizationPPM, r.MemoryActivityPPM = percent(u.Gpu), percent(u.Memory)
	}
	return err
}

// memory prefers the query that does not count what the driver keeps for itself.
func (d *device) memory(r *Reading) error {
	if d.memory2 {
		m, ret := d.d.GetMemoryInfo_v2()
		if ret == gonvml.SUCCESS {
			r.MemoryUsedBytes, r.MemoryTotalBytes = unsigned(m.Used), unsigned(m.Total)
			return nil
		}
	}
	m, ret := d.d.GetMemoryInfo()
	good, err := ok(r, "memory", ret)
	if good {
		r.MemoryUsedBytes, r.MemoryTotalBytes = unsigned(m.Used), unsigned(m.Total)
	}
	return err
}

func (d *device) power(r *Reading) error {
	p, ret := d.d.GetPowerUsage()
	good, err := ok(r, "power", ret)
	if err != nil {
		return err
	}
	if good {
		r.PowerMW = formats.Some(int64(p))
	}
	if p, ret = d.d.GetEnforcedPowerLimit(); ret == gonvml.SUCCESS {
		r.PowerLimitMW = formats.Some(int64(p))
	}
	_, err = ok(r, "power limit", ret)
	return err
}

func (d *device) energyUsed(r *Reading) error {
	if !d.energy {
		return nil
	}
	e, ret := d.d.GetTotalEnergyConsumption()
	good, err := ok(r, "energy", ret)
	if good {
		r.EnergyMJ = unsigned(e)
	}
	return err
}

func (d *device) heat(r *Reading) error {
	t, ret := d.d.GetTemperature(gonvml.TEMPERATURE_GPU)
	good, err := ok(r, "temperature", ret)
	if good {
		r.TemperatureC = formats.Some(int64(t))
	}
	return err
}

func (d *device) clocks(r *Reading) error {
	for _, c := range []struct {
		kind  gonvml.ClockType
		query string
		into  *formats.Int
	}{{gonvml.CLOCK_SM, "sm clock", &r.SMClockMHz}, {gonvml.CLOCK_MEM, "memory clock", &r.MemoryClockMHz}} {
		v, ret := d.d.GetClockInfo(c.kind)
		good, err := ok(r, c.query, ret)
		if err != nil {
			return err
		}
		if good {
			*c.into = formats.Some(int64(v))
		}
	}
	return nil
}

// throttle reads the reasons bits, by their old name where the new one is missing.
func (d *device) throttle(r *Reading) error {
	var bits uint64
	var ret gonvml.Return
	switch {
	case d.events:
		bits, ret = d.d.GetCurrentClocksEventReasons()
	case d.reasons:
		bits, ret = d.d.GetCurrentClocksThrottleReasons()
	default:
		return nil
	}
	good, err := ok(r, "throttle reasons", ret)
	if good {
		r.ThrottleReasons = unsigned(bits)
	}
	return err
}

// counters reads for how long clocks were held down. Drivers report heat in one
// counter or, newer ones, in two, by software and by hardware.
func (d *device) counters(r *Reading) error {
	if !d.fields {
		return nil
	}
	fs := []gonvml.FieldValue{
		{FieldId: gonvml.FI_DEV_PERF_POLICY_POWER},
		{FieldId: gonvml.FI_DEV_PERF_POLICY_THERMAL},
		{FieldId: gonvml.FI_DEV_CLOCKS_EVENT_REASON_SW_THERM_SLOWDOWN},
		{FieldId: gonvml.FI_DEV_CLOCKS_EVENT_REASON_HW_THERM_SLOWDOWN},
	}
	if good, err := ok(r, "throttle counters", d.d.GetFieldValues(fs)); !good {
		return err
	}
	r.ThrottlePowerNS = fieldValue(fs[0])
	if r.ThrottleThermalNS = fieldValue(fs[1]); !r.ThrottleThermalNS.Valid {
		if a, b := fieldValue(fs[2]), fieldValue(fs[3]); a.Valid || b.Valid {
			r.ThrottleThermalNS = formats.Some(a.V + b.V)
		}
	}
	return nil
}

// fieldValue decodes a field that NVML fills in one of several types.
func fieldValue(f gonvml.FieldValue) formats.Int {
	if gonvml.Return(f.NvmlReturn) != gonvml.SUCCESS {
		return formats.Int{}
	}
	u := binary.NativeEndian.Uint64(f.Value[:])
	switch gonvml.ValueType(f.ValueType) {
	case gonvml.VALUE_TYPE_UNSIGNED_INT:
		return formats.Some(int64(binary.NativeEndian.Uint32(f.Value[:])))
	case gonvml.VALUE_TYPE_SIGNED_INT:
		return formats.Some(int64(int32(binary.NativeEndian.Uint32(f.Value[:]))))
	case gonvml.VALUE_TYPE_UNSIGNED_LONG, gonvml.VALUE_TYPE_UNSIGNED_LONG_LONG:
		return unsigned(u)
	case gonvml.VALUE_TYPE_SIGNED_LONG_LONG:
		return formats.Some(int64(u))
	case gonvml.VALUE_TYPE_DOUBLE:
		if v := math.Float64frombits(u); v >= 0 && v < 1<<62 {
			return formats.Some(int64(v))
		}
	}
	return formats.Int{}
}
