import Cryptography
import TestSupport
import Testing

@testable import OfficialCore

@Suite("Passphrase of an official core's database")
struct OfficialKeyTests {
    private func key(_ words: [String], _ folder: TemporaryFolder) async throws -> Shell.Outcome {
        try await ChatFSProcess.run(
            ["key"] + words + ["--database", folder.path("db")], environment: ["HOME": folder.path])
    }

    @Test("the encryption state needs no passphrase")
    func status() async throws {
        let folder = try TemporaryFolder()
        let missing = try await key(["status", "--core", "lib:/none"], folder)
        #expect(!missing.succeeded && missing.errors.contains("There is no SimpleX database"))
        try folder.write(Array("SQLite format 3\0".utf8), to: "db_chat.db")
        #expect(try await key(["status", "--core", "lib:/none"], folder).output.contains(": not encrypted"))
        try folder.write([UInt8](repeating: 0x5A, count: 4096), to: "db_chat.db")
        let encrypted = try await key(["status", "--core", "simplex-chat", "--json"], folder)
        #expect(encrypted.output.contains(#""encrypted":true"#), "\(encrypted.output)")
    }

    @Test("refusals name the safe alternative")
    func refusals() async throws {
        let folder = try TemporaryFolder()
        try folder.write(Array("SQLite format 3\0".utf8), to: "db_chat.db")
        for (words, expected) in [
            (["set", "--core", "simplex-chat"], "--core lib:"),
            (["status", "--core", "ws://127.0.0.1:1"], "has its database open"),
            (["change", "--core", "lib:/none"], "is not encrypted"),
            (["set", "--core", "lib:/none", "--data", folder.path], "--data applies to"),
            (["change", "--core", "lib:/none", "--forgotten"], "no recovery code"),
            (["set", "--core", "lib:/none"], "no terminal"),
            (["test", "--core", "lib:/none"], "could not be loaded"),
        ] {
            let outcome = try await key(words, folder)
            #expect(!outcome.succeeded && outcome.errors.contains(expected), "\(words): \(outcome.errors)")
        }
        try folder.write([UInt8](repeating: 0x5A, count: 4096), to: "db_chat.db")
        let again = try await key(["set", "--core", "lib:/none"], folder)
        #expect(!again.succeeded && again.errors.contains("chatfs key change"), "\(again.errors)")
    }

    @Test func libraryNeedsNamedDatabase() async throws {
        let folder = try TemporaryFolder()
        for words in [["mount", folder.path("mount")], ["key", "test"], ["contact", "list"]] {
            let outcome = try await ChatFSProcess.run(
                words + ["--core", "lib:/none"], environment: ["HOME": folder.path])
            #expect(outcome.ending == .code(64) && outcome.errors.contains("--database"), "\(outcome.errors)")
        }
        #expect(try folder.names(in: ".").isEmpty)
    }

    @Test("a passphrase is sent unchanged or refused")
    func command() throws {
        func text(_ present: String?, _ new: String) throws -> String {
            let command = try LibraryTransport.command(
                from: present.map { SecretBytes(Array($0.utf8)) }, to: SecretBytes(Array(new.utf8)))
            return command.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
        }
        #expect(try text(nil, "a") == #"/_db encryption {"currentKey":"","newKey":"a"}"#)
        #expect(
            try text(#"a"b\c"#, #"\""#)
                == #"/_db encryption {"currentKey":"a\"b\\c","newKey":"\\\""}"#)
        for wrong in ["", "two words", "a\nb", "ü", "\u{7F}"] {
            #expect(throws: OfficialCoreError.self) { try text(nil, wrong) }
        }
    }
}
