import Base
import Cryptography
import Glibc
import Posix
import TestSupport
import Testing

@testable import Keyring

/// The helper process, as the program starts it.
@Suite("The helper process for the keyring", .timeLimit(.minutes(10)))
struct KeyringProcessTests {
    /// Without the user's own session.
    private static func run(_ arguments: [String], address: String? = nil) async throws -> Shell.Outcome {
        try await ChatFSProcess.run(
            [KeyringProcess.word] + arguments,
            environment: [
                "DBUS_SESSION_BUS_ADDRESS": address ?? "unix:path=/nowhere", "XDG_RUNTIME_DIR": nil,
                "DISPLAY": nil,
            ])
    }

    @Test(
        "wrong arguments are refused before loading a library",
        arguments: [[], ["find"], ["find", "a", "b"], ["open", "a"], ["", ""], ["FIND", "a"]])
    func usage(arguments: [String]) async throws {
        let outcome = try await Self.run(arguments)
        #expect(outcome.ending == .code(64) && outcome.output.isEmpty && outcome.errors.isEmpty)
    }

    @Test("without a bus there is no keyring", arguments: ["find", "look", "forget"])
    func absent(deed: String) async throws {
        for address in ["unix:path=/nowhere", "nonsense"] {
            let outcome = try await Self.run([deed, "name"], address: address)
            let answer = outcome.output.utf8.first.flatMap(KeyringProcess.Answer.init(rawValue:))
            #expect(outcome.ending == .code(0) && outcome.output.utf8.count == 1)
            #expect(answer == .absent, "\(address): \(outcome.output)")
        }
    }

    @Test("a bus without a service has no key")
    func noService() async throws {
        let services = try SystemServices()
        try await services.startBus()
        for deed in ["find", "look"] {
            let outcome = try await Self.run([deed, "name"], address: services.address)
            let answer = outcome.output.utf8.first.flatMap(KeyringProcess.Answer.init(rawValue:))
            // Some versions of libsecret report this, others a missing key.
            #expect(answer == .absent || answer == KeyringProcess.Answer.none)
            #expect(outcome.ending == .code(0) && outcome.output.utf8.count == 1)
        }
        try await services.stopBus()
    }

    @Test("answers are unique bytes that begin no key")
    func answers() {
        let answers: [KeyringProcess.Answer] = [.found, .none, .done, .waiting, .locked, .absent, .refused]
        #expect(Set(answers.map(\.rawValue)).count == answers.count)
        for answer in answers { #expect(KeyringProcess.Answer(rawValue: answer.rawValue) == answer) }
        let known = Set(answers.map(\.rawValue))
        for byte in UInt8.min...UInt8.max where !known.contains(byte) {
            #expect(KeyringProcess.Answer(rawValue: byte) == nil)
        }
    }

    @Test("each error has its own sentence")
    func sentences() {
        let errors: [KeyringError] = [
            .absent, .locked, .silent, .refused,
            KeyringError(SystemError(code: EMFILE, operation: "start a program")),
        ]
        #expect(Set(errors.map(\.sentence)).count == errors.count)
        #expect(errors.map(\.code) == [.absent, .locked, .silent, .refused, .process])
        // A lack of this process is no missing keyring.
        #expect(errors[4].sentence.contains("Too many open files"))
    }

    @Test("a failed start is no missing keyring")
    func exhausted() async throws {
        await #expect(processExitsWith: .success) {
            setenv("DBUS_SESSION_BUS_ADDRESS", "unix:path=/nowhere", 1)
            // The thread that starts programs exists already.
            _ = try? ChildProcess.startBlocking(ChildProcess.Settings("/bin/true"))
            var limit = rlimit()
            getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            limit.rlim_cur = 64
            setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
            var taken: [OpenFile] = []
            while let file = try? OpenFile("/dev/null", flags: O_RDONLY) { taken.append(file) }
            do throws(KeyringError) {
                _ = try Keyring().key(named: "n")
                preconditionFailure("it was asked")
            } catch {
                precondition(error.code == .process && (error.cause as? SystemError)?.code == EMFILE)
            }
            withExtendedLifetime(taken) {}
        }
    }

    @Test("a key's text has only hexadecimal digits")
    func text() throws {
        var generator = SeededGenerator(state: 5)
        for _ in 0..<50 {
            let bytes = (0..<32).map { _ in UInt8.random(in: 0...255, using: &generator) }
            let text = HexadecimalKey.encoded(SecretBytes(bytes))
            let plain = text.withUnsafeBytes { Array($0) }
            #expect(String(decoding: plain, as: UTF8.self) == Hexadecimal.encode(bytes))
            #expect(try #require(HexadecimalKey.decoded(text)).isEqual(to: SecretBytes(bytes)))
        }
        let digits = Set("0123456789abcdef".utf8)
        let whole = [UInt8](repeating: UInt8(ascii: "a"), count: 64)
        for place in [0, 1, 31, 62, 63] {
            for byte in UInt8.min...UInt8.max {
                var text = whole
                text[place] = byte
                #expect((HexadecimalKey.decoded(SecretBytes(text)) != nil) == digits.contains(byte))
            }
        }
    }
}
