import ChatCore
import TestSupport
import Testing

@Suite("Splitting of file names")
struct NameSplittingTests {
    @Test(
        "extension follows the last dot, .tar stays attached",
        arguments: [
            ("a.txt", "a", ".txt"), ("a", "a", ""), ("a.", "a", "."), (".a", ".a", ""), (".a.b", ".a", ".b"),
            ("", "", ""),
            ("a.b.c", "a.b", ".c"), ("a.tar.gz", "a", ".tar.gz"), ("a.TAR.Zst", "a", ".TAR.Zst"),
            (".tar.gz", ".tar", ".gz"),
            ("a.tar", "a", ".tar"), ("atar.gz", "atar", ".gz"), ("a.tar.tar.gz", "a.tar", ".tar.gz"),
            ("é.tar.gz", "é", ".tar.gz"),
            ("a.b\u{301}", "a", ".b\u{301}"),
        ])
    func split(name: String, stem: String, suffix: String) {
        let parts = SafeFileName.split(name)
        #expect(parts.stem == stem && parts.suffix == suffix)
        #expect(String(parts.stem) + String(parts.suffix) == name)
    }

    @Test(
        "cut names keep whole characters and extension"
    )
    func shortened() {
        let names = [
            "holiday picture.jpeg", "😀😀😀😀.png", "a.tar.gz", "葛飾北斎.txt",
            "x." + String(repeating: "y", count: 30), "👩\u{200D}👩\u{200D}👧👩\u{200D}👩\u{200D}👧.gif",
        ]
        for name in names {
            let suffix = String(SafeFileName.split(name).suffix)
            for limit in 8...name.utf8.count + 1 {
                let short = SafeFileName.shortened(name, to: limit)
                #expect(short.utf8.count <= limit && !short.isEmpty)
                if limit >= name.utf8.count { #expect(short == name) }
                if suffix.utf8.count < limit / 2 {
                    #expect(short.hasSuffix(suffix))
                    #expect(name.unicodeScalars.starts(with: short.dropLast(suffix.count).unicodeScalars))
                } else {
                    #expect(name.unicodeScalars.starts(with: short.unicodeScalars))
                }
            }
        }
    }

    @Test("number precedes extension within the length limit")
    func numbered() {
        for number in [2, 10, 12_345, Int.max] {
            #expect(SafeFileName.numbered("a.tar.gz", number) == "a (\(number)).tar.gz")
            for length in [200, 230, 250, 251, 255] {
                let name = String(repeating: "n", count: length - 4) + ".txt"
                let result = SafeFileName.numbered(name, number)
                #expect(result.utf8.count <= 255 && result.hasSuffix(" (\(number)).txt"))
                #expect(result.utf8.count == min(255, length + " (\(number))".utf8.count))
            }
        }
    }

    @Test(
        "media type follows the last extension",
        arguments: [
            ("a.jpeg", "image/jpeg", MediaType.Kind.image), ("a.b.HEIC", "image/heic", .image),
            ("a.mov", "video/quicktime", .video),
            ("a.Mkv", "video/x-matroska", .video), ("a.opus", "audio/ogg", .audio),
            ("a.flac", "audio/flac", .audio),
            ("a.docx", "application/vnd.openxmlformats-officedocument.wordprocessingml.document", .other),
            ("a.jpg.exe", "application/octet-stream", .other), (".jpg", "image/jpeg", .image),
            ("a.", "application/octet-stream", .other), ("", "application/octet-stream", .other),
            ("mp4", "application/octet-stream", .other),
        ])
    func mediaTypes(name: String, type: String, kind: MediaType.Kind) {
        #expect(MediaType(fileName: name).name == type)
        #expect(MediaType(fileName: name).kind == kind)
    }

    @Test("a type's kind follows its first word")
    func kinds() {
        #expect(MediaType("image/").kind == .image)
        #expect(MediaType("imagery/x").kind == .other)
    }
}
