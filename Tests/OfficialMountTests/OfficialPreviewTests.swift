import Glibc
import Posix
import TestSupport
import Testing

@Suite(
    "Previews of media sent through an official core", .serialized,
    .disabled(if: OfficialPrograms.lackChat, "OFFICIAL_BIN names no folder with the official programs"))
struct OfficialPreviewTests {
    @Test("media arrive unchanged with a preview")
    func previews() async throws {
        let stage = try await OfficialStage.start("alice", "bob")
        let (alice, bob) = (stage.people[0], stage.people[1])
        let source = alice.home + "/source"
        let drawn = try await Shell.script(
            """
            cd "$SOURCE" && ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=1600x1200 -frames:v 1 a.png &&
            ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=640x480:rate=10 -t 3 -c:v mpeg4 b.mp4
            """, environment: ["SOURCE": source])
        #expect(drawn.succeeded, "\(drawn.errors)")
        try await alice.mount(.attached)
        // The program without ChatFS receives what its app would show.
        let app = try await bob.client()
        defer { app.close() }
        let copied = try await Shell.run("cp", [source + "/a.png", source + "/b.mp4", alice.chats + "/bob/"])
        #expect(copied.succeeded, "\(copied.errors)")
        for (name, type) in [("a.png", "image"), ("b.mp4", "video")] {
            try await alice.waitForState("sent", of: name, in: "bob")
            let event = try await app.event("newChatItems", with: "\"fileName\":\"\(name)\"")
            #expect(event.contains(#""type":"\#(type)""#), "\(event.prefix(2000))")
            let preview = event.firstMatch(of: /"image":"(data:image\/jpg;base64,\/9j\/[^"]+)"/)?.1
            #expect((100...14_000).contains(preview?.utf8.count ?? 0))
        }
        let video = try await app.event("newChatItems", with: "\"fileName\":\"b.mp4\"")
        #expect(try OfficialClient.number("duration", in: video) == 3)
        // The other side with a mount.
        try await bob.mount(.attached)
        for name in ["a.png", "b.mp4"] {
            try await bob.waitForFile(name, in: "alice")
            let same = try await Shell.run("cmp", ["\(source)/\(name)", "\(bob.chats)/alice/\(name)"])
            #expect(same.succeeded, "\(same.output)\(same.errors)")
        }
        try await stage.leave()
    }
}
