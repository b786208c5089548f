import Glibc
import Posix

/// The helper process for the keyring: this program, started by `Keyring`. A process of its own, because libsecret
/// brings threads and an event loop, and because a keyring may wait for its user for ever: a process can be ended.
///
/// Its arguments are the operation and the key's name. Keys pass only through its standard input and output, as 64
/// hexadecimal digits. Its output begins with a byte of `Answer`.
public enum KeyringProcess {
    /// The first argument that selects this process.
    public static let word = "use-keyring"

    enum Deed: String {
        /// The second of the first two never prompts the user.
        case find, look, keep, forget
    }

    enum Answer: UInt8 {
        /// The key follows.
        case found = 0x6B
        case none = 0x6E
        case done = 0x64
        /// The user is being prompted; another answer follows.
        case waiting = 0x77
        case locked = 0x6C
        case absent = 0x61
        case refused = 0x72
    }

    static let textLength = 64

    /// - Parameter arguments: The arguments after `word`.
    public static func main(_ arguments: [String]) -> Never {
        ProcessHardening.apply()
        signal(SIGPIPE, SIG_IGN)
        guard arguments.count == 2, let deed = Deed(rawValue: arguments[0]) else { _exit(64) }
        guard let library = SecretLibrary() else { end(.absent) }
        do throws(SecretLibrary.Problem) {
            switch deed {
            case .find: try find(arguments[1], library, mayAsk: true)
            case .look: try find(arguments[1], library, mayAsk: false)
            case .keep: try keep(arguments[1], library)
            case .forget:
                try library.forget(arguments[1])
                end(.done)
            }
        } catch {
            switch error {
            case .absent: end(.absent)
            case .locked: end(.locked)
            case .refused: end(.refused)
            }
        }
    }

    private static func find(
        _ name: String, _ library: SecretLibrary, mayAsk: Bool
    ) throws(SecretLibrary.Problem) -> Never {
        for unlocking in mayAsk ? [false, true] : [false] {
            do throws(SecretLibrary.Problem) {
                let found: Void? = try library.find(name, unlocking: unlocking) { bytes in
                    say(.found)
                    _ = write(STDOUT_FILENO, bytes.baseAddress, min(bytes.count, textLength))
                }
                if found == nil { end(.none) }
                _exit(0)
            } catch {
                guard error == .locked, mayAsk, !unlocking else { throw error }
                say(.waiting)
            }
        }
        end(.locked)
    }

    private static func keep(_ name: String, _ library: SecretLibrary) throws(SecretLibrary.Problem) -> Never
    {
        let text = UnsafeMutableRawPointer.allocate(byteCount: textLength + 1, alignment: 8)
        memset(text, 0, textLength + 1)
        var count = 0
        while count < textLength {
            let part = read(STDIN_FILENO, text + count, textLength - count)
            guard part > 0 else { end(.refused) }
            count += part
        }
        // Never freed: the process ends here.
        try library.keep(text, name, label: "ChatFS: key of the data directory")
        end(.done)
    }

    private static func say(_ answer: Answer) {
        var byte = answer.rawValue
        _ = write(STDOUT_FILENO, &byte, 1)
    }

    private static func end(_ answer: Answer) -> Never {
        say(answer)
        _exit(0)
    }
}
