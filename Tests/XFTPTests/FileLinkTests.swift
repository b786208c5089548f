import Testing

@testable import XFTP

@Suite struct FileLinkTests {
    @Test func linksRoundTrip() throws {
        let link = FileLink(try Vectors.description())
        #expect(link.text.hasPrefix("simplex:/file#/?desc=chunkSize%3A%2064kb%0Adigest%3A%20"))
        #expect(try FileLink(parsing: link.text) == link)
    }

    @Test func webFormAndDataAreRead() throws {
        let link = FileLink(try Vectors.description(), data: #"{"a":"b & c=d"}"#)
        let web = link.text.replacing("simplex:/file", with: "https://simplex.chat/file")
        #expect(try FileLink(parsing: web) == link)
        #expect(try FileLink(parsing: web.replacing("/file#/?", with: "/file/#/?")) == link)
    }

    @Test(arguments: [
        "", "simplex:/file", "simplex:/file#/", "simplex:/file#/?", "simplex:/file#/?desc=",
        "simplex:/file#/?desc=%zz", "simplex:/file#/?desc=%F", "simplex:/file#/?desc=%FF",
        "simplex:/contact#/?desc=a", "https://example.org/file#/?desc=a", "simplex:/file#/?desc=a&desc=b",
        "simplex:/file#/?data=a",
    ])
    func invalidLinksAreRejected(text: String) {
        #expect(throws: XFTPError.self) { try FileLink(parsing: text) }
    }
}
