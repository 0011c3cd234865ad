//go:build !cgo || !linux

package nvml

// Open returns an error: this build has no door to NVML.
func Open() (Library, error) {
	return nil, &UnavailableError{
		What: "this gpuwatch was built without cgo, or for a system other than Linux",
		Help: "build it on Linux with CGO_ENABLED=1 and a C compiler; " + optional,
	}
}
