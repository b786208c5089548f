import Glibc
import Posix
import TestSupport
import Testing

/// Copied or sent pictures carry a preview and arrive unchanged.
@Suite("Previews of sent pictures")
struct PreviewTests {
    @Test("copies and chatfs send add a preview")
    func pictures() async throws {
        let stage = try await CopyStage.start(encrypted: false)
        let drawn = try await stage.copy(
            """
            cd "$SOURCE"; for n in copied sent told; do
                ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=1600x1200 -frames:v 1 $n.png
            done; { head -c 8 copied.png; head -c 9000 /dev/urandom; } > broken.png
            """)
        #expect(drawn.succeeded, "\(drawn.errors)")
        try await stage.chatfs(["send", stage.source + "/sent.png", "bob", "--profile", "alice"])
        let (alice, bob) = (try await stage.mount("alice"), try await stage.mount("bob"))
        #expect(
            try await stage.copy("cp \"$SOURCE/copied.png\" \"$SOURCE/broken.png\" \"$FOLDER/\"").succeeded)
        try await stage.chatfs(["send", stage.source + "/told.png", "bob", "--profile", "alice"])
        try await stage.waitForArrival(of: ["copied.png", "sent.png", "told.png", "broken.png"])

        for name in ["copied", "sent", "told"] {
            let kept = try await kinds(of: name + ".png", in: stage)
            // A row for alice and one for bob.
            #expect(kept.count == 2)
            for line in kept {
                #expect(line.hasPrefix("image data:image/jpg;base64,/9j/"), "\(line.prefix(60))")
                #expect(line.utf8.count <= 14_000 + 6)
            }
            let same = try await Shell.run(
                "cmp", [stage.source + "/\(name).png", stage.fromAlice + "/\(name).png"])
            #expect(same.succeeded, "\(same.output)")
        }
        #expect(try await kinds(of: "broken.png", in: stage) == ["file ", "file "])
        for mount in [alice, bob] { #expect(try await mount.terminate() == .code(0)) }
    }

    /// Its preview is the picture that it outputs if all its attacks failed.
    @Test("a compromised ffmpeg is confined")
    func hostile() async throws {
        let stage = try await CopyStage.start(encrypted: false)
        let folder = try TemporaryFolder()
        let hostile = try await HostileProgram.compile(in: folder, as: "ffmpeg")
        let drawn = try await stage.copy(
            "cd \"$SOURCE\" && ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=320x240 -t 1 film.mp4")
        #expect(drawn.succeeded, "\(drawn.errors)")
        let path = folder.path + ":" + (getenv("PATH").map { String(cString: $0) } ?? "")
        let alice = try await stage.mount("alice", environment: ["PATH": path])
        let bob = try await stage.mount("bob")
        #expect(try await stage.copy("cp \"$SOURCE/film.mp4\" \"$FOLDER/\"").succeeded)
        try await stage.waitForArrival(of: ["film.mp4"])
        for line in try await kinds(of: "film.mp4", in: stage) {
            let text = try #require(line.split(separator: ",").last.map(String.init))
            #expect(line.hasPrefix("video data:image/jpg;base64,"))
            let colour = try await Shell.script(
                """
                echo '\(text)' | base64 -d | ffmpeg -v error -f image2pipe -i - -vf scale=1:1 -f rawvideo \
                    -pix_fmt rgb24 - | od -An -tu1
                """)
            let parts = colour.output.split(whereSeparator: \.isWhitespace).compactMap { Int($0) }
            #expect(parts.count == 3 && parts[0] > 240 && parts[1] < 15 && parts[2] < 15, "\(colour.output)")
        }
        #expect(hostile.damage().isEmpty)
        for mount in [alice, bob] { #expect(try await mount.terminate() == .code(0)) }
        let left = try await Shell.run("pgrep", ["-f", hostile.path])
        #expect(left.output == "")
    }

    /// Kind and preview in the database, one line per item.
    private func kinds(of name: String, in stage: CopyStage) async throws -> [String] {
        let program = """
            import sqlite3, sys
            for row in sqlite3.connect("file:" + sys.argv[1] + "?mode=ro", uri=True).execute(
                    "SELECT i.kind, i.preview FROM item i JOIN file f ON f.item = i.id WHERE f.name = ?", sys.argv[2:]):
                print(*row)
            """
        let outcome = try await Shell.run(
            "python3", ["-c", program, stage.folder.path("data/chatfs.db"), name])
        guard outcome.succeeded else { throw WaitedInVain("python3: \(outcome.errors)") }
        return outcome.output.split(separator: "\n").map(String.init)
    }
}
