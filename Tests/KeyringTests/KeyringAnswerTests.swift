import Base
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Keyring

/// Every answer and every end of the helper process. In processes of their own, because the environment decides about
/// the session bus.
@Suite("Answers of the helper process", .timeLimit(.minutes(10)))
struct KeyringAnswerTests {
    private let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// A program that runs `script` in place of the helper.
    private static func program(_ script: String, in folder: String) throws -> String {
        let path = folder + "/asks"
        let file = try OpenFile(path, flags: O_WRONLY | O_CREAT | O_TRUNC, mode: 0o700)
        try file.write(Array("#!/bin/sh\n\(script)\n".utf8), at: 0)
        return path
    }

    /// Returns the results of reading, storing and deleting a key.
    private static func outcomes(of script: String, in folder: String, timeout: Duration = .seconds(60))
        throws
        -> [String]
    {
        // As on threads for blocking work: the helper may have gone already.
        signal(SIGPIPE, SIG_IGN)
        var keyring = Keyring()
        keyring.executable = try program(script, in: folder)
        (keyring.timeout, keyring.timeoutWithUser) = (timeout, timeout)
        func words(_ body: () throws(KeyringError) -> String) -> String {
            do throws(KeyringError) { return try body() } catch { return "\(error.code)" }
        }
        return [
            words { () throws(KeyringError) in
                guard let key = try keyring.key(named: "n") else { return "none" }
                return key.withUnsafeBytes { Hexadecimal.encode($0) }
            },
            words { () throws(KeyringError) in
                try keyring.keep(SecretBytes([UInt8](0..<32)), named: "n")
                return "kept"
            },
            words { () throws(KeyringError) in
                try keyring.forget("n")
                return "forgotten"
            },
        ]
    }

    @Test("each answer has one meaning per operation")
    func answers() async throws {
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere", 1)
            let key = String(repeating: "0f", count: 32)
            for (script, expected) in [
                ("printf k\(key)", [key, "refused", "refused"]),
                ("printf n", ["none", "refused", "refused"]),
                ("printf d", ["refused", "kept", "forgotten"]),
                ("printf l", ["locked", "locked", "locked"]),
                ("printf a", ["absent", "absent", "absent"]),
                ("printf r", ["refused", "refused", "refused"]),
                ("printf x", ["refused", "refused", "refused"]),
                ("exit 0", ["refused", "refused", "refused"]),
                ("kill -9 $$", ["refused", "refused", "refused"]),
                // The user is prompted, with and without an answer.
                ("printf wd", ["refused", "kept", "forgotten"]),
                ("printf wwk\(key)", [key, "refused", "refused"]),
                ("printf w; kill -9 $$", ["refused", "refused", "refused"]),
            ] {
                let found = try KeyringAnswerTests.outcomes(of: script, in: path)
                precondition(found == expected, "\(script): \(found)")
            }
        }
    }

    @Test("malformed keys are refused")
    func keys() async throws {
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere", 1)
            let key = String(repeating: "0f", count: 32)
            for text in [
                "", "0", String(key.dropLast()), key.uppercased(), "g" + key.dropFirst(),
                " " + key.dropLast(),
            ] {
                let found = try KeyringAnswerTests.outcomes(of: "printf 'k\(text)'", in: path)
                precondition(found[0] == "refused", "\(text): \(found)")
            }
            let more = try KeyringAnswerTests.outcomes(of: "printf 'k\(key)0f'", in: path)
            precondition(more[0] == key)
            // In pieces of any size.
            let pieces = try KeyringAnswerTests.outcomes(
                of: "for d in k \(key.map { String($0) }.joined(separator: " ")); do printf $d; done",
                in: path)
            precondition(pieces[0] == key)
        }
    }

    @Test("keys go to its input, names to its arguments")
    func question() async throws {
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere", 1)
            let key = Hexadecimal.encode([UInt8](0..<32))
            let script =
                "echo \"$@\" >>\(path)/asked; [ $2 = keep ] && head -c 64 >>\(path)/asked; printf d"
            _ = try KeyringAnswerTests.outcomes(of: script, in: path)
            let asked = try OpenFile(path + "/asked", flags: O_RDONLY).readAll(limit: 1000)
            let text = String(decoding: asked, as: UTF8.self)
            precondition(
                text == "use-keyring find n\nuse-keyring keep n\n\(key)use-keyring forget n\n", "\(text)")
            var silent = Keyring()
            silent.mayAsk = false
            silent.executable = try KeyringAnswerTests.program(script, in: path)
            _ = try? silent.key(named: "n")
            let again = try OpenFile(path + "/asked", flags: O_RDONLY).readAll(limit: 1000)
            precondition(String(decoding: again, as: UTF8.self).hasSuffix("use-keyring look n\n"))
        }
    }

    @Test("a silent helper ends at its time limit")
    func silence() async throws {
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere", 1)
            let found = try KeyringAnswerTests.outcomes(
                of: "exec sleep 1000", in: path, timeout: .milliseconds(30))
            precondition(found == ["silent", "silent", "silent"], "\(found)")
            let asking = try KeyringAnswerTests.outcomes(
                of: "printf w; exec sleep 1000", in: path, timeout: .seconds(1))
            precondition(asking == ["locked", "locked", "locked"], "\(asking)")
            let half = try KeyringAnswerTests.outcomes(
                of: "printf k0f; exec sleep 1000", in: path, timeout: .seconds(1))
            precondition(half == ["silent", "silent", "silent"], "\(half)")
            let waited = Lock(0)
            var keyring = Keyring()
            keyring.executable = try KeyringAnswerTests.program("printf wwn", in: path)
            keyring.whenWaiting = { waited.withLock { $0 += 1 } }
            let key = try keyring.key(named: "n")
            precondition(key == nil && waited.withLock { $0 } == 2)
        }
    }

    @Test("without a session bus no helper starts")
    func absent() async throws {
        await #expect(processExitsWith: .success) { [path = folder.path as String] in
            unsetenv("XDG_RUNTIME_DIR")
            unsetenv("DBUS_SESSION_BUS_ADDRESS")
            precondition(!Keyring.isPossible)
            let found = try KeyringAnswerTests.outcomes(of: "touch \(path)/ran; printf d", in: path)
            precondition(found == ["absent", "absent", "absent"] && access(path + "/ran", F_OK) != 0)
            setenv("DBUS_SESSION_BUS_ADDRESS", "", 1)
            precondition(!Keyring.isPossible)
            setenv("XDG_RUNTIME_DIR", path, 1)
            precondition(!Keyring.isPossible)
            _ = try OpenFile(path + "/bus", flags: O_WRONLY | O_CREAT)
            precondition(Keyring.isPossible)
            var keyring = Keyring()
            keyring.executable = path + "/none"
            do throws(KeyringError) {
                try keyring.forget("n")
                preconditionFailure("it was asked")
            } catch {
                precondition(error.code == .process && error.cause is SystemError)
            }
        }
    }
}
