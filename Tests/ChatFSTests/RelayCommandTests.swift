import Posix
import TestSupport
import Testing

@Suite("Relays of a profile")
struct RelayCommandTests {
    private static let fingerprint = "0YuTwO05YJWS8rkjn9eLJDjQhFKvIYd8d4xG8X1blIU="
    private static let smp = "smp://\(fingerprint)@smp.example:5223"
    private static let xftp = "xftp://\(fingerprint)@xftp.example:443"

    /// A data directory with the profile alice.
    private struct Place {
        let folder: TemporaryFolder

        init() async throws {
            folder = try TemporaryFolder()
            let made = try await run(["profile", "create", "alice"])
            try #require(made.succeeded, "\(made.errors)")
        }

        func run(_ words: [String], input: String? = nil) async throws -> Shell.Outcome {
            guard let input else {
                return try await ChatFSProcess.run(words + ["--data", folder.path("data")])
            }
            return try await Shell.run(
                "sh",
                ["-c", "printf '%s' \"$0\" | \"$CHATFS\" \"$@\"", input] + words + [
                    "--data", folder.path("data"),
                ],
                environment: [
                    "CHATFS": ChatFSProcess.path, "CREDENTIALS_DIRECTORY": ChatFSProcess.credentials,
                ])
        }
    }

    @Test(
        "relays are listed without passwords and removed")
    func list() async throws {
        let place = try await Place()
        let secret = "smp://\(Self.fingerprint):pass@smp.example:5223"
        #expect(try await place.run(["relay", "add", Self.smp, Self.xftp]).succeeded)
        #expect(try await place.run(["relay", "add", "-"], input: secret + "\n").succeeded)
        #expect(try await place.run(["relay", "list"]).output == "\(Self.smp)\n\(Self.xftp)\n")
        #expect(try await place.run(["relay", "remove", Self.smp]).succeeded)
        #expect(try await place.run(["relay", "list"]).output == "\(Self.xftp)\n")
        let again = try await place.run(["relay", "remove", Self.smp])
        #expect(again.ending == .code(1) && again.errors.contains("does not use this relay"))
    }

    @Test func testReadsPassphraseOnce() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Array("word\n".utf8), to: "passphrase")
        func run(_ words: [String]) async throws -> Shell.Outcome {
            try await Shell.run(
                "sh",
                ["-c", "\"$CHATFS\" \"$@\" --passphrase-fd 3 3< \"$0\"", folder.path("passphrase")] + words
                    + ["--data", folder.path("data")],
                environment: ["CHATFS": ChatFSProcess.path])
        }
        let made = try await run(["profile", "create", "alice"])
        try #require(made.succeeded, "\(made.errors)")
        let tested = try await run(["relay", "test"])
        #expect(
            tested.ending == .code(1) && tested.errors.contains("The profile has no relays"),
            "\(tested.errors)")
    }

    @Test("official relays need consent")
    func presets() async throws {
        let place = try await Place()
        let asked = try await place.run(["relay", "preset", "simplex"])
        #expect(asked.ending == .code(64) && asked.errors.contains("https://simplex.chat/privacy"))
        #expect(try await place.run(["relay", "list"]).output == "")
        let shown = try await place.run(["relay", "preset", "simplex", "flux", "--show"]).output
        #expect(shown.contains("@smp8.simplex.im\n") && shown.contains("@xftp6.simplexonflux.com\n"))
        #expect(!shown.contains("smp4.simplex.im"), "it takes no new queues")
        #expect(try await place.run(["relay", "preset", "simplex", "flux", "--yes"]).succeeded)
        #expect(try await place.run(["relay", "list"]).output.split(separator: "\n").count == 29)
    }

    @Test(
        "relay problems are distinguished")
    func trial() async throws {
        let place = try await Place()
        let none = try await place.run(["relay", "test"])
        #expect(none.ending == .code(1) && none.errors.contains("relay add"))
        try place.folder.write(Array("word\n".utf8), to: "password")
        let relay = try await ChatFSProcess.start(
            [
                "relay", "--password-file", place.folder.path("password"), "--no-encryption", "--dir",
                place.folder.path("relay"),
            ])
        let xftp = try await relay.line("its address for files") { $0.hasPrefix("xftp://") }
        let smp = try await relay.line("its address for messages") { $0.hasPrefix("smp://") }
        let closed = try await place.run(["relay", "test", xftp, smp])
        #expect(closed.ending == .code(1))
        #expect(
            closed.output.split(separator: "\n").count { $0.contains("password") } == 2, "\(closed.output)")
        let open = [xftp, smp].map { $0.replacing("@", with: ":word@") }
        try #require(try await place.run(["relay", "add"] + open).succeeded)
        let works = try await place.run(["relay", "test"])
        #expect(works.succeeded, "\(works.output)\(works.errors)")
        #expect(!works.output.contains("word"))
        let end = try #require(smp.split(separator: "@").last)
        let lies = try await place.run(["relay", "test", "smp://\(Self.fingerprint)@\(end)"])
        #expect(lies.ending == .code(1) && lies.output.contains("another identity"), "\(lies.output)")
        try await relay.terminate()
        let gone = try await place.run(["relay", "test"])
        #expect(gone.ending == .code(1))
        #expect(gone.output.split(separator: "\n").allSatisfy { $0.hasPrefix("failed") }, "\(gone.output)")
    }

    @Test("invalid arguments are usage errors")
    func misuse() async throws {
        let place = try await Place()
        for words in [["add"], ["add", "nonsense"], ["remove", "ftp://x"], ["preset", "nobody"], ["lsit"]] {
            #expect(try await place.run(["relay"] + words).ending == .code(64), "\(words)")
        }
    }
}
