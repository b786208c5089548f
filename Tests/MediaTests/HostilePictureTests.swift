import ChatCore
import Glibc
import Posix
import TestSupport
import Testing

@testable import Media

/// Broken and hostile pictures lose only their preview.
@Suite struct HostilePictureTests {
    /// Greyscale PNGs of one colour, with one bit or 16 bits per pixel.
    private static func bomb(_ side: Int, bits: Int) -> String {
        """
        import struct, sys, zlib
        def chunk(kind, data):
            return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))
        packer = zlib.compressobj(9)
        row = b"\\0" * (1 + \(side) * \(bits) // 8)
        data = b"".join(packer.compress(row) for _ in range(\(side))) + packer.flush()
        open(sys.argv[1], "wb").write(b"\\x89PNG\\r\\n\\x1a\\n"
            + chunk(b"IHDR", struct.pack(">IIBBBBB", \(side), \(side), \(bits), 0, 0, 0, 0))
            + chunk(b"IDAT", data) + chunk(b"IEND", b""))
        """
    }

    /// One has too many pixels; the other exceeds the memory limit.
    @Test(arguments: [(30_000, 1), (15_000, 16)])
    func decompressionBombIsSentAsAFile(side: Int, bits: Int) async throws {
        let studio = try Studio()
        let bytes = try await studio.python(Self.bomb(side, bits: bits))
        #expect(bytes.count < 2 << 20)
        #expect(try await studio.kind(of: bytes) == .file)
    }

    @Test(arguments: ["a.png", "a.jpg", "a.gif", "a.webp"])
    func truncatedPictureIsSentAsAFile(name: String) async throws {
        let studio = try Studio()
        let bytes = try await studio.draw("testsrc2=size=400x300", name)
        #expect(try await studio.kind(of: Array(bytes.prefix(20))) == .file)
        // Some decoders show the available part of a slightly truncated picture.
        switch try await studio.kind(of: Array(bytes.prefix(bytes.count / 2))) {
        case .file: break
        case .image(let text): _ = try await studio.look(at: text)
        default: Issue.record("neither picture nor file")
        }
    }

    @Test func otherBytesAfterThePictureMarkAreSentAsAFile() async throws {
        let studio = try Studio()
        var generator = SeededGenerator(state: 11)
        let marks: [[UInt8]] = [
            [0xFF, 0xD8, 0xFF, 0xE0], [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A], Array("GIF89a".utf8),
            Array("RIFF____WEBPVP8 ".utf8),
        ]
        for mark in marks {
            let noise = (0..<5_000).map { _ in UInt8.random(in: 0...255, using: &generator) }
            #expect(try await studio.kind(of: mark + noise) == .file)
        }
    }

    @Test(arguments: ["a.png", "a.jpg", "a.gif", "a.webp"])
    func damagedPictureHasAValidPreviewOrNone(name: String) async throws {
        let studio = try Studio()
        let whole = try await studio.draw("testsrc2=size=64x48", name)
        var generator = SeededGenerator(state: 5)
        for _ in 0..<12 {
            var bytes = whole
            for _ in 0..<Int.random(in: 1..<12, using: &generator) {
                bytes[Int.random(in: 12..<bytes.count, using: &generator)] = UInt8.random(
                    in: 0...255, using: &generator)
            }
            switch try await studio.kind(of: bytes) {
            case .file: continue
            case .image(let text): _ = try await studio.look(at: text)
            default: Issue.record("neither picture nor file")
            }
        }
    }

    @Test func picturesOver64MiBAreNotDecoded() async throws {
        let studio = try Studio()
        var message = try studio.message([0xFF, 0xD8, 0xFF])
        message.size = PreviewMaker.maxPictureSize + 1
        #expect(await studio.maker("/nowhere").completed(message).content.kind == .file)
    }

    // MARK: - Compromised libraries

    /// A picture of 3 bytes, decoded by a scripted program.
    private func kind(decodedBy script: String) async throws -> MessageContent.Kind {
        let studio = try Studio()
        let maker = studio.maker(try studio.script(script), timeout: .seconds(2))
        return await maker.completed(try studio.message([0xFF, 0xD8, 0xFF])).content.kind
    }

    private let grey = MessageContent.Kind.image(preview: PreviewMaker.text(NeutralPreview.picture))

    @Test func hangingDecoderGivesAGreyPreview() async throws {
        #expect(try await kind(decodedBy: "#!/bin/sh\nexec sleep 1000\n") == grey)
    }

    @Test func crashingDecoderMakesThePictureAFile() async throws {
        let crash = "#!/usr/bin/python3\nimport ctypes\nctypes.string_at(0)\n"
        #expect(try await kind(decodedBy: crash) == .file)
    }

    @Test func excessiveDecoderOutputIsRejected() async throws {
        #expect(try await kind(decodedBy: "#!/bin/sh\nexec yes\n") == grey)
        #expect(try await kind(decodedBy: "#!/bin/sh\nexec echo '<script>'\n") == .file)
    }

    @Test func missingLibraryGivesGreyPreviews() async throws {
        let studio = try Studio()
        // Another library with that name.
        let other = try await Shell.script(
            "cp /lib/*/libz.so.1 libgdk_pixbuf-2.0.so.0", folder: studio.folder.path)
        #expect(other.succeeded, "\(other.errors)")
        let child = try await Shell.run(
            ChatFSProcess.path, [PictureProcess.word, "png", "0", "9000", "preview"],
            environment: ["LD_LIBRARY_PATH": studio.folder.path])
        #expect(child.ending == .code(PictureProcess.Ending.cannotDecode.rawValue))
        #expect(try await kind(decodedBy: "#!/bin/sh\nexit 10\n") == grey)
        let program = try studio.script("#!/bin/sh\nexit 10\n")
        #expect(await studio.maker(program).equipment().decodesPictures == false)
        guard case .image(let text) = grey else { return }
        let preview = try await studio.look(at: text)
        #expect(preview.isLike([96, 96, 96], 45, 50))
    }

    @Test func decoderCannotOpenFiles() async throws {
        var settings = ChildProcess.Settings(
            ChatFSProcess.path, [PictureProcess.word, "png", "100", "9000", "preview"])
        settings.input = .pipe
        settings.output = .pipe
        settings.confinement = Confinement(maxMemory: 512 << 20, maxSeconds: 10)
        let child = try await ChildProcess.start(settings)
        // One filter since its start, one more before the first byte is read.
        try await wait(until: "it has dropped its abilities") {
            let status = try OpenFile("/proc/\(child.identifier)/status", flags: O_RDONLY)
                .read(count: 4096, at: 0)
            return String(decoding: status, as: UTF8.self).contains("Seccomp_filters:\t2\n")
        }
        #expect(child.endingIfEnded() == nil)
    }
}
