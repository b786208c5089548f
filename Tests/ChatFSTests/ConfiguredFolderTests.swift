import CommandLineKit
import Glibc
import TestSupport
import Testing

@testable import chatfs

/// The mount of the configuration that a folder on the command line means.
@Suite struct ConfiguredFolderTests {
    @Test func linkedFolderFindsItsMount() throws {
        let folder = try TemporaryFolder()
        _ = try folder.makeFolder("real")
        #expect(symlink(folder.path("real"), folder.path("home")) == 0)
        let text = """
            [mounts.other]
            mountpoint = "\(folder.path("other"))"
            [mounts.ours]
            mountpoint = "\(folder.path("home/Chats"))"
            previews = "none"
            """
        let configuration = try ConfigurationAccess.reader.read(Array(text.utf8))
        for path in ["home/Chats", "real/Chats"] {
            let chosen = try configuration.chosen(folder.path(path))
            #expect(chosen.mount?.name == "ours" && chosen.mountpoint.hasSuffix("/real/Chats"))
        }
        #expect(try configuration.chosen(folder.path("real/Chat")).mount == nil)
    }

    @Test func mistypedMountGetsSuggestion() throws {
        let configuration = try ConfigurationAccess.reader.read(
            Array("[mounts.home]\nmountpoint = \"/m\"\n".utf8))
        let error = #expect(throws: UsageError.self) { try configuration.chosen("hmoe") }
        #expect(error?.sentence.hasSuffix("; did you mean 'home'?") == true)
        #expect(try configuration.chosen("./hmoe").mount == nil)
        #expect(try configuration.chosen("Conversations").mount == nil)
    }
}
