// SPDX-License-Identifier: Apache-2.0

package skew

import (
	"debug/elf"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"time"

	"github.com/prometheus/procfs"
)

// Start starts a command whose clock is ahead by whole seconds, or behind. Timers are as always. It needs Linux on
// amd64.
func Start(command *exec.Cmd, ahead time.Duration) error {
	if runtime.GOARCH != "amd64" {
		return fmt.Errorf("skew: the code for %s is missing", runtime.GOARCH)
	}
	seconds := int64(ahead / time.Second)
	if seconds > math.MaxInt32 || seconds < math.MinInt32 {
		return fmt.Errorf("skew: %s is too much", ahead)
	}
	// Only the thread that has started the process may change it.
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if command.SysProcAttr == nil {
		command.SysProcAttr = &syscall.SysProcAttr{}
	}
	command.SysProcAttr.Ptrace = true
	if err := command.Start(); err != nil {
		return err
	}
	pid := command.Process.Pid
	err := replace(pid, clockGettime(int32(seconds)))
	if err == nil {
		err = syscall.PtraceDetach(pid)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("skew: %w", err), command.Process.Kill(), command.Wait())
	}
	return nil
}

// clockGettime is clock_gettime: it asks the kernel, and adds seconds to what it says of CLOCK_REALTIME.
func clockGettime(seconds int32) []byte {
	code := []byte{
		0xb8, 0xe4, 0x00, 0x00, 0x00, // mov eax, SYS_clock_gettime
		0x0f, 0x05, // syscall
		0x85, 0xff, // test edi, edi: CLOCK_REALTIME is 0
		0x75, 0x07, // jnz to ret
		0x48, 0x81, 0x06, // add qword ptr [rsi], seconds
	}
	code = binary.LittleEndian.AppendUint32(code, uint32(seconds))
	return append(code, 0xc3) // ret
}

// replace waits until a new process stands before its first instruction, and replaces the vDSO's clock_gettime.
func replace(pid int, code []byte) error {
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(pid, &status, 0, nil); err != nil {
		return err
	}
	if !status.Stopped() {
		return fmt.Errorf("the process did not stop at its start: %v", status)
	}
	from, to, err := vdso(pid)
	if err != nil {
		return err
	}
	image := make([]byte, to-from)
	if _, err := syscall.PtracePeekData(pid, from, image); err != nil {
		return err
	}
	file, err := elf.NewFile(strings.NewReader(string(image)))
	if err != nil {
		return err
	}
	symbols, err := file.DynamicSymbols()
	if err != nil {
		return err
	}
	for _, s := range symbols {
		if s.Name == "__vdso_clock_gettime" {
			_, err := syscall.PtracePokeData(pid, from+uintptr(s.Value), code)
			return err
		}
	}
	return errors.New("the vDSO has no clock_gettime")
}

// vdso is where the vDSO of a process is.
func vdso(pid int) (from, to uintptr, err error) {
	p, err := procfs.NewProc(pid)
	if err != nil {
		return 0, 0, err
	}
	maps, err := p.ProcMaps()
	if err != nil {
		return 0, 0, err
	}
	for _, m := range maps {
		if m.Pathname == "[vdso]" {
			return m.StartAddr, m.EndAddr, nil
		}
	}
	return 0, 0, errors.New("the process has no vDSO")
}
