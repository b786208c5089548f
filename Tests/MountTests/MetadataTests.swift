import Posix
import TestSupport
import Testing

/// From the writer to the bytes on the other side.
@Suite("Removal of metadata")
struct MetadataTests {
    @Test(
        "copies and chatfs send remove metadata"
    )
    func sent() async throws {
        let stage = try await CopyStage.start()
        let drawn = try await stage.copy(
            """
            cd "$SOURCE"; for n in copied told direct plain; do
                ffmpeg -nostdin -v error -f lavfi -i testsrc2=size=320x240 -frames:v 1 $n.jpg
                exiftool -q -overwrite_original -Make=SECRETMARK -GPSLatitude=48 -GPSLatitudeRef=N $n.jpg
            done; echo SECRETMARK > words.txt
            """)
        #expect(drawn.succeeded, "\(drawn.errors)")
        try await stage.chatfs([
            "send", stage.source + "/direct.jpg", "bob", "--profile", "alice", "--strip-metadata", "images",
        ])
        var alice = try await stage.mount("alice", options: ["--strip-metadata", "images"])
        let bob = try await stage.mount("bob")
        #expect(
            try await stage.copy("cp \"$SOURCE/copied.jpg\" \"$SOURCE/words.txt\" \"$FOLDER/\"").succeeded)
        try await stage.chatfs(["send", stage.source + "/told.jpg", "bob", "--profile", "alice"])
        try await stage.waitForArrival(of: ["copied.jpg", "told.jpg", "direct.jpg", "words.txt"])
        let marked = try await Shell.script(
            "grep -l SECRETMARK -- *; exiftool -q -S -gps:all *.jpg", folder: stage.fromAlice)
        #expect(marked.output == "words.txt\n")
        let own = try await Shell.script("cat copied.jpg | grep -c SECRETMARK", folder: stage.toBob)
        #expect(own.output == "0\n", "who wrote it reads what was sent")
        for _ in 0..<2 {
            let told = try ["copied.jpg", "words.txt"].map {
                try ExtendedAttribute.text("user.chatfs.metadata", of: stage.toBob + "/" + $0)
            }
            #expect(told == ["removed", nil])
            #expect(try await alice.terminate() == .code(0))
            alice = try await stage.mount("alice")
        }
        // Never by default.
        #expect(try await stage.copy("cp \"$SOURCE/plain.jpg\" \"$FOLDER/\"").succeeded)
        try await stage.waitForArrival(of: ["plain.jpg"])
        #expect(try await stage.expectEqual(["plain.jpg"]))
        #expect(try ExtendedAttribute.text("user.chatfs.metadata", of: stage.toBob + "/plain.jpg") == nil)
        for mount in [alice, bob] { #expect(try await mount.terminate() == .code(0)) }
    }

    @Test(
        "damaged pictures stay; a mount needs exiftool"
    )
    func refused() async throws {
        let stage = try await CopyStage.start()
        let alice = try await stage.mount("alice", options: ["--strip-metadata", "images"])
        try stage.prepare("broken.jpg", [0xFF, 0xD8, 0xFF] + sample(500))
        #expect(try await stage.copy("cp \"$SOURCE/broken.jpg\" \"$FOLDER/\"").succeeded)
        try await wait(until: "it is refused", within: .seconds(60)) {
            try stage.state("broken.jpg") == "failed"
        }
        let words = try ExtendedAttribute.text("user.chatfs.error", of: stage.toBob + "/broken.jpg")
        #expect(words?.contains("metadata") == true)
        let named = try await Shell.run("find", [stage.folder.path("data"), "-name", "*broken*"])
        #expect(named.succeeded && named.output == "", "the data directory names the file")
        #expect(try await alice.terminate() == .code(0))
        let folder = try TemporaryFolder()
        let without = try await ChatFSProcess.run(
            ["mount", folder.path("m"), "--strip-metadata", "images"], environment: ["PATH": folder.path])
        #expect(!without.succeeded && without.errors.contains("libimage-exiftool-perl"))
    }
}
