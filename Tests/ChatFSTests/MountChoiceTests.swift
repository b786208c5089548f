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

    @Test func namesPrecedeEntriesOfCurrentMount() {
        var all = choice("/mnt/Chats", [home, inner, other])
        #expect(all.choose("Work", path: "/mnt/Chats/Work") == .chosen(inner))
        #expect(all.choose("desk", path: "/mnt/Chats/desk") == .chosen(inner))
        #expect(all.choose("alice", path: "/mnt/Chats/alice") == .chosen(other))
        all.knowsProfiles = false
        #expect(all.choose("alice", path: "/mnt/Chats/alice") == .unknown)
        #expect(all.choose("./alice", path: "/mnt/Chats/alice") == .chosen(other))
        #expect(all.choose(".", path: "/mnt/Chats/alice") == .chosen(other))
    }

    @Test func configuredNameChooses() {
        var named = other
        named.name = "desktop"
        let all = choice("/tmp", [home, inner, named])
        #expect(all.choose("desktop", path: "/tmp/desktop") == .chosen(named))
        #expect(all.names.contains("desktop"))
    }

    @Test func ownMountsPrecedeForeignOnes() {
        let foreign = MountChoice.Candidate(path: "/home/bob/Chats", isOwn: false)
        #expect(choice("/tmp", [home, foreign]).choose("Chats") == .chosen(home))
        #expect(choice("/home/bob/Chats", [home, foreign]).choose(nil) == .chosen(home))
        #expect(choice("/tmp", [home, foreign]).choose("bob", path: "/home/bob/Chats") == .chosen(foreign))
        #expect(choice("/tmp", [foreign]).choose("Chats") == .chosen(foreign))
    }
}
