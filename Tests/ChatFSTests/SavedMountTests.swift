import CommandLineKit
import Testing

@testable import chatfs

@Suite("Saved mounts")
struct SavedMountTests {
    private func text(_ words: String...) throws -> String {
        guard case .run(let invocation) = try Parser.parse(words, of: ChatFS.program) else {
            throw UsageError("no command ran")
        }
        return SavedMount("home", invocation, at: "/home/ada/Chats").text
    }

    @Test("a phone's mount keeps its core")
    func phone() throws {
        let saved = try text(
            "phone", "mount", "~/Chats", "--name", "work", "--theme", "light", "--folders", "refuse",
            "--save",
            "home")
        #expect(
            saved
                == """
                [mounts.home]
                mountpoint = "/home/ada/Chats"
                core = "phone:work"
                folders = "refuse"

                """)
        #expect(try ConfigurationAccess.reader.read(Array(saved.utf8)).mounts.map(\.name) == ["home"])
        #expect(try text("phone", "~/Chats", "--save", "home").contains("core = \"phone\"\n"))
    }

    @Test("options of one process are not saved")
    func once() throws {
        let saved = try text(
            "mount", "~/Chats", "--key-fd", "3", "--background", "--no-finish", "--save", "home")
        #expect(saved == "[mounts.home]\nmountpoint = \"/home/ada/Chats\"\nno-finish = true\n")
    }

    @Test func flagTurnedOffIsSavedAsFalse() throws {
        let saved = try text("mount", "~/Chats", "--no-finish=false", "--save", "home")
        #expect(saved == "[mounts.home]\nmountpoint = \"/home/ada/Chats\"\nno-finish = false\n")
    }
}
