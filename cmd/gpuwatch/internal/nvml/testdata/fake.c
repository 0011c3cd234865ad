// A libnvidia-ml.so.1 without a driver, so that the real door to NVML is tested on
// hosts without a device. FAKE_NVML says what it pretends, as words:
//
//	init=N    nvmlInit fails with N           devices=N  count, 2 by itself
//	lost=N    device 0 is lost after N reads of its utilization
//	power=N   the power query fails with N
//
// Device 0 reports everything. Device 1 is in MIG mode and supports little.
// Compiled with OLD it lacks the functions that drivers before 535 lack.
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, INVALID = 2, NOT_SUPPORTED = 3, LOST = 15 };

typedef struct device {
	int index, reads;
} device;

static device devices[8];

static int word(const char *name, int otherwise)
{
	const char *s = getenv("FAKE_NVML");
	char key[32];
	snprintf(key, sizeof key, "%s=", name);
	s = s ? strstr(s, key) : NULL;
	return s ? atoi(s + strlen(key)) : otherwise;
}

int nvmlInit_v2(void)
{
	for (int i = 0; i < 8; i++)
		devices[i].index = i;
	return word("init", OK);
}

int nvmlShutdown(void) { return OK; }

const char *nvmlErrorString(int code)
{
	static char text[32];
	snprintf(text, sizeof text, "fake error %d", code);
	return text;
}

int nvmlSystemGetDriverVersion(char *version, unsigned length)
{
	snprintf(version, length, "570.1");
	return OK;
}

int nvmlDeviceGetCount_v2(unsigned *n)
{
	*n = word("devices", 2);
	return OK;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned index, device **d)
{
	if (index >= 8)
		return INVALID;
	*d = &devices[index];
	return OK;
}

int nvmlDeviceGetUUID(device *d, char *uuid, unsigned length)
{
	snprintf(uuid, length, "GPU-fake-%d", d->index);
	return OK;
}

int nvmlDeviceGetName(device *d, char *name, unsigned length)
{
	snprintf(name, length, "Fake Card");
	return OK;
}

int nvmlDeviceGetUtilizationRates(device *d, unsigned *gpu_memory)
{
	if (word("lost", 0) && d->index == 0 && ++d->reads > word("lost", 0))
		return LOST;
	gpu_memory[0] = d->index == 0 ? 97 : 0; // 0 under MIG, as some drivers say
	gpu_memory[1] = d->index == 0 ? 41 : 0;
	return OK;
}

int nvmlDeviceGetMemoryInfo(device *d, unsigned long long *total_free_used)
{
	total_free_used[0] = 80ull << 30;
	total_free_used[1] = 9ull << 30;
	total_free_used[2] = 71ull << 30; // with what the driver keeps for itself
	return OK;
}

int nvmlDeviceGetPowerUsage(device *d, unsigned *mw)
{
	*mw = 650123;
	return word("power", OK);
}

int nvmlDeviceGetEnforcedPowerLimit(device *d, unsigned *mw)
{
	*mw = 700000;
	return d->index == 0 ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetTemperature(device *d, int sensor, unsigned *c)
{
	*c = 61;
	return sensor == 0 && d->index == 0 ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetClockInfo(device *d, int kind, unsigned *mhz)
{
	*mhz = kind == 1 ? 1980 : 2619;
	return d->index == 0 ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetCurrentClocksThrottleReasons(device *d, unsigned long long *bits)
{
	*bits = 5;
	return d->index == 0 ? OK : NOT_SUPPORTED;
}

#ifndef OLD
int nvmlDeviceGetMigMode(device *d, unsigned *now, unsigned *pending)
{
	*now = *pending = d->index == 1;
	return OK;
}

int nvmlDeviceGetMemoryInfo_v2(device *d, void *info)
{
	unsigned long long *v = info; // version, total, reserved, free, used
	v[1] = 80ull << 30;
	v[2] = 1ull << 30;
	v[3] = 9ull << 30;
	v[4] = 70ull << 30;
	return OK;
}

int nvmlDeviceGetTotalEnergyConsumption(device *d, unsigned long long *mj)
{
	*mj = 123456789012ull;
	return d->index == 0 ? OK : NOT_SUPPORTED;
}

int nvmlDeviceGetCurrentClocksEventReasons(device *d, unsigned long long *bits)
{
	*bits = 4;
	return d->index == 0 ? OK : NOT_SUPPORTED;
}

typedef struct field {
	unsigned id, scope;
	long long timestamp, latency;
	unsigned type, result;
	unsigned long long value;
} field;

int nvmlDeviceGetFieldValues(device *d, int n, field *f)
{
	if (d->index != 0)
		return NOT_SUPPORTED;
	for (int i = 0; i < n; i++) {
		f[i].type = 3; // unsigned long long
		f[i].result = f[i].id == 75 ? NOT_SUPPORTED : OK;
		f[i].value = f[i].id * 1000ull;
	}
	return OK;
}
#endif
