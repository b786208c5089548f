import Base
import Cryptography
import Glibc
import Posix

/// The keyring of the desktop session, with keys of 32 bytes by name. Each call starts a helper process and ends it at
/// its time limit. Blocks, so never use the cooperative pool.
public struct Keyring: Sendable {
    /// The time limit without a prompt for the user.
    public var timeout = Duration.seconds(10)
    /// The time limit with a prompt.
    public var timeoutWithUser = Duration.seconds(60)
    /// Whether the user may be prompted to unlock it.
    public var mayAsk = true
    /// Called when the user is prompted.
    public var whenWaiting: @Sendable () -> Void = {}
    /// The program that runs `KeyringProcess` for its first argument.
    var executable = "/proc/self/exe"

    public init() {}

    /// Whether there is a session bus. Contacts no service.
    public static var isPossible: Bool {
        if let address = getenv("DBUS_SESSION_BUS_ADDRESS"), address.pointee != 0 { return true }
        guard let folder = getenv("XDG_RUNTIME_DIR") else { return false }
        return access(String(cString: folder) + "/bus", F_OK) == 0
    }

    /// Returns the key, or nil if there is none of this name.
    /// - Throws: all of `KeyringError.Code`.
    public func key(named name: String) throws(KeyringError) -> SecretBytes? {
        let answer = try ask(mayAsk ? .find : .look, name, sending: nil)
        switch answer.kind {
        case .found:
            guard let key = HexadecimalKey.decoded(answer.text) else { throw .refused }
            return key
        case .none: return nil
        default: throw Self.problem(answer.kind)
        }
    }

    /// Stores a key, replacing one of this name.
    /// - Throws: all of `KeyringError.Code`.
    public func keep(_ key: SecretBytes, named name: String) throws(KeyringError) {
        let answer = try ask(.keep, name, sending: HexadecimalKey.encoded(key))
        guard answer.kind == .done else { throw Self.problem(answer.kind) }
    }

    /// Does nothing if there is none of this name.
    /// - Throws: all of `KeyringError.Code`.
    public func forget(_ name: String) throws(KeyringError) {
        let answer = try ask(.forget, name, sending: nil)
        guard answer.kind == .done else { throw Self.problem(answer.kind) }
    }

    private static func problem(_ kind: KeyringProcess.Answer) -> KeyringError {
        switch kind {
        case .locked: .locked
        case .absent: .absent
        case .found, .none, .done, .waiting, .refused: .refused
        }
    }

    // MARK: - Helper process

    private func ask(
        _ deed: KeyringProcess.Deed, _ name: String, sending text: SecretBytes?
    ) throws(KeyringError) -> (kind: KeyringProcess.Answer, text: SecretBytes) {
        guard Self.isPossible else { throw .absent }
        var settings = ChildProcess.Settings.conversing(KeyringProcess.word)
        settings.executable = executable
        settings.arguments += [deed.rawValue, name]
        let child: ChildProcess
        do throws(SystemError) {
            child = try ChildProcess.startBlocking(settings)
        } catch {
            throw KeyringError(error)
        }
        // Every exit from this function ends the process.
        defer { withExtendedLifetime(child) {} }
        guard let input = child.input, let output = child.output else { throw .refused }
        // Fits into a pipe, so it does not wait.
        _ = text?.withUnsafeBytes { write(input.descriptor, $0.baseAddress, $0.count) }
        // A keyring may prompt its user before it answers.
        var end = ContinuousClock.now + (deed == .keep ? timeoutWithUser : timeout)
        var isAsking = false
        while true {
            let first: SecretBytes
            do throws(KeyringError) {
                first = try read(output, upTo: 1, until: end)
            } catch {
                // The user was prompted and did not answer.
                throw isAsking && error.code == .silent ? .locked : error
            }
            guard let byte = first.withUnsafeBytes({ $0.first }),
                let kind = KeyringProcess.Answer(rawValue: byte)
            else { throw .refused }
            if kind == .waiting {
                whenWaiting()
                isAsking = true
                end = ContinuousClock.now + timeoutWithUser
                continue
            }
            let rest = kind == .found ? KeyringProcess.textLength : 0
            return (kind, try read(output, upTo: rest, until: end))
        }
    }

    private func read(
        _ file: OpenFile, upTo limit: Int, until end: ContinuousClock.Instant
    ) throws(KeyringError) -> SecretBytes {
        try SecretBytes(upTo: max(1, limit)) {
            (memory: UnsafeMutableRawBufferPointer) throws(KeyringError) -> Int in
            var count = 0
            while count < limit {
                let left = ContinuousClock.now.duration(to: end)
                guard left > .zero else { throw .silent }
                var request = pollfd(fd: file.descriptor, events: Int16(POLLIN), revents: 0)
                let milliseconds = left.components.seconds * 1000 + 1
                guard poll(&request, 1, Int32(clamping: milliseconds)) > 0 else { continue }
                let part = Glibc.read(file.descriptor, memory.baseAddress! + count, limit - count)
                if part <= 0 { break }
                count += part
            }
            return count
        }
    }
}

/// A key in the keyring's text form, in locked memory.
enum HexadecimalKey {
    static let length = KeyringProcess.textLength / 2

    static func encoded(_ key: SecretBytes) -> SecretBytes {
        precondition(key.count == length, "a key has 32 bytes")
        let digits = Array("0123456789abcdef".utf8)
        return SecretBytes(upTo: length * 2) { (memory: UnsafeMutableRawBufferPointer) -> Int in
            key.withUnsafeBytes { bytes in
                for (index, byte) in bytes.enumerated() {
                    memory[index * 2] = digits[Int(byte >> 4)]
                    memory[index * 2 + 1] = digits[Int(byte & 15)]
                }
            }
            return length * 2
        }
    }

    /// Returns nil for other texts.
    static func decoded(_ text: SecretBytes) -> SecretBytes? {
        guard text.count == length * 2 else { return nil }
        var isValid = true
        let key = SecretBytes(upTo: length) { (memory: UnsafeMutableRawBufferPointer) -> Int in
            text.withUnsafeBytes { text in
                for index in 0..<length {
                    guard let high = value(text[index * 2]), let low = value(text[index * 2 + 1]) else {
                        isValid = false
                        return
                    }
                    memory[index] = high << 4 | low
                }
            }
            return length
        }
        return isValid ? key : nil
    }

    private static func value(_ digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        default: nil
        }
    }
}
