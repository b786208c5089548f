import Base
import Glibc
import Keyring
import Posix

/// Examines the system beside FUSE: clock, keyring, kernel features, network.
enum SystemExamination {
    /// Blocks for a moment.
    static func findings() -> [Finding] {
        [
            clock(
                now: SystemWallClock().now().seconds, isSynchronised: isClockSynchronised()),
            keyring(isPossible: Keyring.isPossible), landlock(version: ProcessHardening.landlockVersion),
            passthrough(kernel: release(), isRoot: geteuid() == 0),
        ].compactMap(\.self)
    }

    // MARK: - Clock

    /// 1 January 2026, in seconds since 1970; every version of ChatFS is newer.
    private static let earliest: Int64 = 1_767_225_600

    /// - Parameters:
    ///   - now: Seconds since 1970.
    ///   - isSynchronised: nil if unknown.
    static func clock(now: Int64, isSynchronised: Bool?) -> Finding {
        if now < earliest {
            return .bad(
                "the clock is wrong (\(Timestamp(seconds: now).text)): connections fail and files appear expired; set "
                    + "it, or install the package systemd-timesyncd")
        }
        if isSynchronised == false {
            return .note(
                "the clock is not synchronised: files may appear expired early or late; install the package "
                    + "systemd-timesyncd or chrony")
        }
        return .good("the clock is plausible")
    }

    /// Returns the result of adjtimex(2), which the module Glibc lacks; nil if unknown.
    private static func isClockSynchronised() -> Bool? {
        typealias Call = @convention(c) (UnsafeMutableRawPointer) -> Int32
        guard let symbol = dlsym(nil, "adjtimex") else { return nil }
        let call = unsafeBitCast(symbol, to: Call.self)
        // struct timex has 208 bytes. Its first member, the modes, stays 0: read only.
        var clock = [UInt64](repeating: 0, count: 32)
        let state = clock.withUnsafeMutableBytes { call($0.baseAddress!) }
        // TIME_ERROR.
        return state < 0 ? nil : state != 5
    }

    // MARK: - Keyring

    static func keyring(isPossible: Bool) -> Finding {
        isPossible
            ? .good("a desktop keyring is available")
            : .note(
                "this session has no desktop keyring: a passphrase, 'chatfs unlock' or a systemd "
                    + "credential unlocks the data")
    }

    // MARK: - Kernel

    static func landlock(version: Int) -> Finding {
        version > 0
            ? .good("the kernel confines the decoding of pictures (Landlock \(version))")
            : .note(
                "pictures are decoded with less confinement: the kernel has no Landlock (Linux 5.13 with lsm=landlock)"
            )
    }

    /// FUSE passthrough needs root and Linux 6.9. Returns nil if it is irrelevant.
    ///
    /// - Parameter kernel: Release of the kernel, such as `6.12.5-amd64`.
    static func passthrough(kernel: String, isRoot: Bool) -> Finding? {
        let numbers = kernel.split(whereSeparator: { !$0.isNumber }).prefix(2).compactMap { Int($0) }
        guard numbers.count == 2 else { return nil }
        let isNew = (numbers[0], numbers[1]) >= (6, 9)
        if isNew {
            return isRoot
                ? .good(
                    "the kernel can read complete files directly (--cache plain, Linux \(numbers[0]).\(numbers[1]))"
                )
                : nil
        }
        return .note(
            "complete files are read through ChatFS: Linux \(numbers[0]).\(numbers[1]) has no FUSE passthrough (6.9 has)"
        )
    }

    private static func release() -> String {
        var name = utsname()
        guard uname(&name) == 0 else { return "" }
        return withUnsafeBytes(of: &name.release) { bytes in
            String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }

    // MARK: - Network

    /// Returns true if an interface other than the loopback has an address, or if that is unknown.
    static func hasNetwork() -> Bool {
        var list: UnsafeMutablePointer<ifaddrs>?
        // An unknown state counts as a network.
        guard getifaddrs(&list) == 0 else { return true }
        defer { freeifaddrs(list) }
        var next = list
        while let interface = next?.pointee {
            next = interface.ifa_next
            let flags = Int32(bitPattern: interface.ifa_flags)
            guard flags & Int32(IFF_UP) != 0, flags & Int32(IFF_LOOPBACK) == 0,
                let family = interface.ifa_addr?.pointee.sa_family
            else { continue }
            if [AF_INET, AF_INET6].contains(Int32(family)) { return true }
        }
        return false
    }
}
