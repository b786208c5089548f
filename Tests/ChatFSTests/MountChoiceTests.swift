import Testing

@testable import chatfs

@Suite struct MountChoiceTests {
    private let home = MountChoice.Candidate(path: "/home/ann/Chats", profile: "ann")
    private let inner = MountChoice.Candidate(path: "/home/ann/Chats/deep/Work", profile: "desk")
    private let other = MountChoice.Candidate(path: "/mnt/Chats", profile: nil)

    private func choice(_ folder: String?, _ mounts: [MountChoice.Candidate]) -> MountChoice {
        MountChoice(mounts: mounts, folder: folder)
    }

    @Test func singleMountIsChosen() {
        #expect(choice("/tmp", [home]).choose(nil) == .chosen(home))
        #expect(choice(nil, []).choose(nil) == .none)
        #expect(choice("/tmp", [home, other]).choose(nil) == .several([home, other]))
    }

    @Test func currentFolderChooses() {
        #expect(choice("/mnt/Chats/bob", [home, other]).choose(nil) == .chosen(other))
        #expect(choice("/home/ann/Chats/deep/Work/x", [home, inner]).choose(nil) == .chosen(inner))
        #expect(choice("/home/ann/Chatsy", [home, other]).choose(nil) == .several([home, other]))
    }

    @Test func namesAndPathsChoose() {
        let all = choice("/home/ann/Chats", [home, inner, other])
        #expect(all.choose("Work") == .chosen(inner))
        #expect(all.choose("desk") == .chosen(inner))
        #expect(all.choose("Chats", path: "/tmp/Chats") == .several([home, other]))
        #expect(all.choose("Chats", path: "/mnt/Chats") == .chosen(other))
        #expect(all.choose("x", path: "/mnt/Chats/alice/x") == .chosen(other))
        #expect(all.choose("nobody", path: "/tmp/nobody") == .unknown)
        #expect(choice(nil, []).choose("x", path: "/x") == .unknown)
    }
}
