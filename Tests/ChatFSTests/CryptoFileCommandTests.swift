import Base
import Glibc
import Posix
import TestSupport
import Testing

@Suite("The command chatfs cryptofile")
struct CryptoFileCommandTests {
    let folder: TemporaryFolder

    init() throws { folder = try TemporaryFolder() }

    /// Encrypts `bytes` and returns the printed JSON line.
    private func encrypt(_ bytes: [UInt8]) async throws -> String {
        try folder.write(bytes, to: "in")
        let outcome = try await ChatFSProcess.run(
            ["cryptofile", "encrypt", folder.path("in"), folder.path("sealed")])
        try #require(outcome.succeeded, "\(outcome.errors)")
        #expect(outcome.errors == "")
        return outcome.output
    }

    private func decrypt(_ options: [String]) async throws -> Shell.Outcome {
        try await ChatFSProcess.run(
            ["cryptofile", "decrypt", folder.path("sealed"), folder.path("out")] + options)
    }

    /// Key and nonce of the printed JSON.
    private func parts(_ json: String) throws -> (key: String, nonce: String) {
        let match = try #require(
            json.wholeMatch(of: /\{"fileKey":"([\w-]{43}=)","fileNonce":"([\w-]{32})"\}\n/), "\(json)")
        return (String(match.1), String(match.2))
    }

    @Test("decryption restores the file", arguments: [0, 1, 300_000])
    func roundTrip(size: Int) async throws {
        let bytes = SystemRandomSource().bytes(size)
        let json = try await encrypt(bytes)
        try folder.write(Array(json.utf8), to: "key")
        #expect(try folder.read("sealed").count == size + 16)
        var outcome = try await decrypt(["--args", folder.path("key")])
        #expect(outcome.ending == .code(0) && outcome.output + outcome.errors == "")
        #expect(try folder.read("out") == bytes)
        let (key, nonce) = try parts(json)
        try folder.write([1], to: "out")
        outcome = try await decrypt(["--key", key, "--nonce", nonce])
        #expect(outcome.succeeded)
        #expect(try folder.read("out") == bytes)
    }

    @Test("the key may come through a pipe")
    func standardInput() async throws {
        let json = try await encrypt([1, 2, 3])
        let outcome = try await Shell.script(
            "printf %s \"$KEY\" | \"$CHATFS\" cryptofile decrypt sealed out --args -", folder: folder.path,
            environment: ["KEY": json, "CHATFS": ChatFSProcess.path])
        #expect(outcome.succeeded, "\(outcome.errors)")
        #expect(try folder.read("out") == [1, 2, 3])
    }

    @Test("keys may begin with a dash")
    func dashes() async throws {
        // 0xf8 makes the base64url text begin with a dash.
        try folder.write([UInt8](repeating: 0, count: 16), to: "sealed")
        let key = Base64URL.encode([0xf8] + [UInt8](repeating: 0, count: 31))
        let nonce = Base64URL.encode([0xf8] + [UInt8](repeating: 0, count: 23))
        try #require(key.hasPrefix("-") && nonce.hasPrefix("-"))
        let outcome = try await decrypt(["--key", key, "--nonce", nonce])
        // Fails for the tag, not as a usage error.
        #expect(outcome.ending == .code(1))
        #expect(outcome.errors.contains("tag is wrong"))
    }

    @Test(
        "damaged files and wrong keys leave no output",
        arguments: ["flip", "cut", "short", "key"])
    func damaged(how: String) async throws {
        let json = try await encrypt([UInt8](repeating: 7, count: 1000))
        var (key, nonce) = try parts(json)
        var sealed = try folder.read("sealed")
        switch how {
        case "flip": sealed[500] ^= 1
        case "cut": sealed.removeLast()
        case "short": sealed = Array(sealed.prefix(15))
        default: key = Base64URL.encode([UInt8](repeating: 9, count: 32))
        }
        try folder.write(sealed, to: "sealed")
        let outcome = try await decrypt(["--key", key, "--nonce", nonce])
        #expect(outcome.ending == .code(1))
        #expect(outcome.errors.hasPrefix("chatfs: ") && outcome.errors.hasSuffix(".\n"))
        #expect(outcome.errors.split(separator: "\n").count == 1)
        #expect(try folder.names().sorted() == ["in", "sealed"])
    }

    @Test("a missing or double key exits with 64", arguments: [[], ["--key", "x"]])
    func usage(options: [String]) async throws {
        let outcome = try await decrypt(options)
        #expect(outcome.ending == .code(64))
        #expect(outcome.errors.contains("Try 'chatfs cryptofile decrypt --help'."))
    }

    @Test("a missing file gives one line")
    func missing() async throws {
        let outcome = try await ChatFSProcess.run(
            ["cryptofile", "encrypt", folder.path("nothing"), folder.path("out")])
        #expect(outcome.ending == .code(1))
        let path = folder.path("nothing")
        #expect(outcome.errors == "chatfs: \(path): Could not open a file: No such file or directory.\n")
        #expect(try folder.names() == [])
    }
}
