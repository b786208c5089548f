import Posix
import TestSupport
import Testing

@testable import chatfs

@Suite("Parts of the demo")
struct DemoPartsTests {
    @Test("picture and sound are valid files")
    func samples() async throws {
        let folder = try TemporaryFolder()
        let picture = try folder.write(SampleImage.png(), to: "a")
        let sound = try folder.write(SampleSound.wav(), to: "b")
        let outcome = try await Shell.run("file", ["--brief", picture, sound])
        #expect(
            outcome.output == """
                PNG image data, 480 x 320, 8-bit colormap, non-interlaced
                RIFF (little-endian) data, WAVE audio, Microsoft PCM, 16 bit, mono 44100 Hz

                """)
        // Python also checks checksums and the deflate stream, unlike `file`.
        let check = try await Shell.run(
            "python3",
            [
                "-c",
                """
                import sys, zlib, struct
                data, at, pixels = open(sys.argv[1], 'rb').read(), 8, b''
                while at < len(data):
                    size, kind = struct.unpack('>I4s', data[at:at + 8])
                    body = data[at + 8:at + 8 + size]
                    assert struct.unpack('>I', data[at + 8 + size:at + 12 + size])[0] == zlib.crc32(kind + body)
                    pixels += body if kind == b'IDAT' else b''
                    at += 12 + size
                assert len(zlib.decompress(pixels)) == 320 * 481
                """, picture,
            ])
        #expect(check.succeeded, "\(check.errors)")
    }

    @Test("the picture is inline, the sound uploaded")
    func sizes() {
        #expect(SampleImage.png().count < 261_120)
        #expect(SampleSound.wav().count > 1_000_000)
    }

    @Test("changes are reported once in order")
    func changes() {
        let old = [
            "bob/alice/a": TransferWatch.Entry(state: "remote", progress: "0", size: 5_000_000),
            "bob/alice/b": TransferWatch.Entry(state: "stored", progress: "100", size: 7),
            "bob/alice/c": TransferWatch.Entry(state: "receiving", progress: "10", size: 9),
            "bob/alice/e": TransferWatch.Entry(state: "draft", progress: "0", size: 51_900),
        ]
        let new = [
            "bob/alice/a": TransferWatch.Entry(state: "hydrated", progress: "100", size: 5_000_000),
            "bob/alice/c": TransferWatch.Entry(state: "receiving", progress: "60", size: 9),
            "alice/bob/d": TransferWatch.Entry(state: "draft", progress: "0", size: 1200),
            "bob/alice/e": TransferWatch.Entry(state: "sending", progress: "0", size: 100_000),
            "bob/alice/f": TransferWatch.Entry(state: "remote", progress: "0", size: 7_000),
        ]
        #expect(
            TransferWatch.changes(from: old, to: new) == [
                "alice/bob/d  new: draft", "bob/alice/a  remote → hydrated", "bob/alice/b  gone",
                "bob/alice/e  draft → sending, 100 kB", "bob/alice/f  new: remote, 7.0 kB",
            ])
    }

    @Test("a nonempty folder is refused")
    func notEmpty() async throws {
        let folder = try TemporaryFolder()
        _ = try folder.makeFolder("demo")
        try folder.write([1], to: "demo/mine")
        let outcome = try await ChatFSProcess.run(["demo", folder.path("demo")])
        #expect(outcome.ending == .code(1))
        #expect(outcome.errors.contains("is not empty"))
        #expect(try folder.names(in: "demo") == ["mine"])
    }

    @Test("a killed demo's own files are removed")
    func leftovers() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("demo")
        do {
            let demo = try DemoFolder(path)
            try await demo.prepare()
            try folder.write([1], to: "demo/.chatfs-demo/left")
        }
        #expect(try folder.names(in: "demo") == [".chatfs-demo", "alice", "bob"])
        do {
            // A child of another test may hold the lock's descriptor between fork and exec.
            let demo = try await wait(for: "the lock of the first demo") { try? DemoFolder(path) }
            #expect(throws: DemoError.self) { try DemoFolder(path) }
            try await demo.prepare()
            #expect(try folder.names(in: "demo/.chatfs-demo") == [".chatfs-folder", "lock", "made-by-demo"])
            try folder.write([1], to: "demo/mine")
            try await demo.remove()
        }
        #expect(try folder.names(in: "demo") == ["mine"])
        #expect(throws: DemoError.self) { try DemoFolder(path) }
    }
}
