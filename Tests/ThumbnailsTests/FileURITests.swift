import Testing

@testable import Thumbnails

@Suite("File URIs")
struct FileURITests {
    /// Results of g_filename_to_uri (GLib 2.74) and QUrl::fromLocalFile(…).toEncoded() (Qt 5.15).
    @Test(
        "URIs match GLib and Qt",
        arguments: [
            ("/a b/c.jpg", "file:///a%20b/c.jpg", nil),
            ("/100%/%41?#.jpg", "file:///100%25/%2541%3F%23.jpg", nil),
            ("/ä€😀", "file:///%C3%A4%E2%82%AC%F0%9F%98%80", nil),
            ("/\u{202E}\u{AD}", "file:///%E2%80%AE%C2%AD", nil),
            ("/!$&'()*+,-./:=@_~", "file:///!$&'()*+,-./:=@_~", nil),
            ("/\"<>\\^`{|}\u{1}\u{7F}", "file:///%22%3C%3E%5C%5E%60%7B%7C%7D%01%7F", nil),
            ("/a;[b].jpg", "file:///a%3B%5Bb%5D.jpg", "file:///a;[b].jpg"),
        ] as [(String, String, String?)])
    func vectors(path: String, glib: String, qt: String?) {
        let spellings = FileURI.spellings(of: Array(path.utf8))
        #expect(spellings.first?.text == glib)
        #expect(spellings.first?.spelling == .glib)
        #expect(spellings.dropFirst().map(\.text) == (qt.map { [$0] } ?? []))
    }

    @Test("other names than UTF-8 have no Qt spelling")
    func invalid() {
        let spellings = FileURI.spellings(of: Array("/a;".utf8) + [0xFF, 0xC3])
        #expect(spellings.map(\.text) == ["file:///a%3B%FF%C3"])
    }

    /// The example of the Thumbnail Managing Standard.
    @Test("thumbnail names match the standard")
    func name() {
        let name = ThumbnailName(uri: "file:///home/jens/photos/me.png")
        #expect(name.fileName == "c6ee772d9e49320e97ec29a7eb5b1697.png")
        #expect(ThumbnailName(fileName: name.fileName) == name)
        for other in ["", "c6ee.png", "c6ee772d9e49320e97ec29a7eb5b169z.png", name.fileName + "x"] {
            #expect(ThumbnailName(fileName: other) == nil)
        }
    }

    @Test("thumbnail places have one name each")
    func places() throws {
        for size in ThumbnailSize.allCases {
            for spelling in FileURI.allCases {
                let place = ThumbnailPlace(entry: 1034, size: size, spelling: spelling)
                #expect(ThumbnailPlace(fileName: place.fileName, size: size) == place)
            }
        }
        for name in [
            "", ".png", "01.png", "+1.png", "-1.png", "1", "1-qt", "1.jpg", "18446744073709551616.png",
        ] {
            #expect(ThumbnailPlace(fileName: name, size: .normal) == nil, "\(name)")
        }
    }
}
