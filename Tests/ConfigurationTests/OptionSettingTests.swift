import CommandLineKit
import Posix
import TestSupport
import Testing

@testable import Configuration

@Suite("Setting an option of a configured mount")
struct OptionSettingTests {
    private let folder: TemporaryFolder
    private let file: ConfigurationFile
    private let deletion = Option("delete", named: "WHAT", .choice(["never", "self"]), "Deletes.")
    private let allowed = Option.list("allow", named: "PROGRAM", .text, "Allows.")
    private var reader: ConfigurationReader {
        ConfigurationReader(mountOptions: [deletion, allowed], chatOptions: [], home: "/home/ada")
    }

    init() throws {
        folder = try TemporaryFolder()
        file = ConfigurationFile(path: folder.path("chatfs/config.toml"))
    }

    /// Sets the option of the mount `b` in a file with this text, and returns the new text.
    private func text(
        after option: any OptionDeclaration, _ value: String, in text: String
    ) throws -> String {
        _ = try? folder.makeFolder("chatfs")
        try folder.write(Array(text.utf8), to: "chatfs/config.toml")
        #expect(try file.set(option, to: value, ofMount: "b", checkedBy: reader))
        return String(decoding: try folder.read("chatfs/config.toml"), as: UTF8.self)
    }

    @Test("a new key stands below its header")
    func added() throws {
        let before = "# mine\n[mounts.a]\nmountpoint = \"/a\"\n\n  [ mounts.b ] # his\nmountpoint = \"/b\"\n"
        let after = try text(after: deletion, "self", in: before)
        #expect(after == before.replacing("# his\n", with: "# his\ndelete = \"self\"\n"))
        #expect(try text(after: deletion, "self", in: after) == after)
    }

    @Test("an existing key is replaced in its own table")
    func replaced() throws {
        let before =
            "[mounts.b]\nmountpoint = \"/b\"\n\tdelete=\"never\" # kept\n[mounts.a]\nmountpoint = \"/a\"\ndelete = \"never\"\n"
        #expect(
            try text(after: deletion, "self", in: before)
                == before.replacing("\tdelete=\"never\" # kept", with: "delete = \"self\""))
    }

    @Test("a list keeps its values and those of all mounts")
    func lists() throws {
        let common = "[mount]\nallow = [\"x\"]\n[mounts.b]\nmountpoint = \"/b\"\n"
        let once = try text(after: allowed, "y", in: common)
        #expect(once.contains("[mounts.b]\nallow = [\"x\", \"y\"]\n"))
        #expect(try text(after: allowed, "y", in: once) == once)
        #expect(try text(after: allowed, "\"", in: once).contains(#"["x", "y", "\""]"#))
    }

    @Test("unsafe edits leave the file unchanged")
    func unsafe() throws {
        _ = try folder.makeFolder("chatfs")
        for text in [
            "mounts.b = { mountpoint = \"/b\" }\n",
            "[mounts.b]\nmountpoint = \"/b\"\nallow = [\n  \"x\",\n]\n",
            "[mounts.b]\nmountpoint = \"/b\"\n\"allow\" = [\"x\"]\n",
        ] {
            try folder.write(Array(text.utf8), to: "chatfs/config.toml")
            #expect(throws: ConfigurationError.self, "\(text)") {
                try file.set(allowed, to: "y", ofMount: "b", checkedBy: reader)
            }
            #expect(try folder.read("chatfs/config.toml") == Array(text.utf8))
        }
    }

    @Test("an unknown mount or a missing file changes nothing")
    func absent() throws {
        #expect(try !file.set(deletion, to: "self", ofMount: "b", checkedBy: reader))
        _ = try folder.makeFolder("chatfs")
        try folder.write(Array("[mounts.a]\nmountpoint = \"/a\"\n".utf8), to: "chatfs/config.toml")
        #expect(try !file.set(deletion, to: "self", ofMount: "b", checkedBy: reader))
    }
}
