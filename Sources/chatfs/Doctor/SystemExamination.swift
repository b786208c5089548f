import Base
import Glibc
import Keyring
import Posix

/// What mounts use of the system besides FUSE: clock, keyring, features of the kernel, network.
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

    /// 1 January 2026: no version of ChatFS is older.
    private static let earliest: Int64 = 1_767_225_600

    /// - Parameters:
    ///   - now: seconds since 1970.
    ///   - isSynchronised: nil if the kernel does not say.
    static func clock(now: Int64, isSynchronised: Bool?) -> Finding {
        if now < earliest {
            return .bad(
                "the clock is wrong (\(Timestamp(seconds: now).text)): servers refuse to connect and files look expired; set "
                    + "it, or install the package systemd-timesyncd")
        }
        if isSynchronised == false {
            return .note(
                "nothing keeps the clock right: files may look expired early or late; install the package "
                    + "systemd-timesyncd or chrony")
        }
        return .good("the clock is plausible")
    }

    /// The answer of adjtimex(2), which the module Glibc lacks; nil if the kernel does not say.
    private static func isClockSynchronised() -> Bool? {
        typealias Call = @convention(c) (UnsafeMutableRawPointer) -> Int32
        guard let symbol = dlsym(nil, "adjtimex") else { return nil }
        let call = unsafeBitCast(symbol, to: Call.self)
        // struct timex has 208 bytes. Its first member names what to change: nothing.
        var clock = [UInt64](repeating: 0, count: 32)
        let state = clock.withUnsafeMutableBytes { call($0.baseAddress!) }
        // TIME_ERROR.
        return state < 0 ? nil : state != 5
    }

    // MARK: - Keyring

    static func keyring(isPossible: Bool) -> Finding {
        isPossible
            ? .good("a keyring of the desktop can be asked")
            : .note(
                "no keyring of the desktop can be asked in this session: a passphrase, 'chatfs unlock' or a credential of "
                    + "systemd unlocks the data")
    }

    // MARK: - Kernel

    static func landlock(version: Int) -> Finding {
        version > 0
            ? .good("the kernel confines the decoding of pictures (Landlock \(version))")
            : .note(
                "pictures are decoded with less confinement: the kernel has no Landlock (Linux 5.13 with lsm=landlock)"
            )
    }

    /// Only root may have the kernel read files by itself.
    ///
    /// - Parameter kernel: its release, such as `6.12.5-amd64`.
    static func passthrough(kernel: String, isRoot: Bool) -> Finding? {
        let numbers = kernel.split(whereSeparator: { !$0.isNumber }).prefix(2).compactMap { Int($0) }
        guard numbers.count == 2 else { return nil }
        let isNew = (numbers[0], numbers[1]) >= (6, 9)
        if isNew {
            return isRoot
                ? .good(
                    "the kernel can read finished files by itself (--cache plain, Linux \(numbers[0]).\(numbers[1]))"
                )
                : nil
        }
        return .note(
            "finished files are read through ChatFS: Linux \(numbers[0]).\(numbers[1]) cannot read them by itself (6.9 can)"
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

    /// Whether an interface besides the loopback has an address.
    static func hasNetwork() -> Bool {
        var list: UnsafeMutablePointer<ifaddrs>?
        // Where that cannot be asked, servers are asked.
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
