import Testing

@testable import FileSystem

@Suite("Names that determine the type")
struct TypeNameTests {
    private static let names = TypeNames(
        globs: Array(
            """
            # weight:type:pattern
            50:application/pdf:*.pdf
            50:application/gzip:*.gz
            50:application/x-compressed-tar:*.tar.gz
            50:audio/ogg:*.ogg
            50:video/ogg:*.ogg
            80:application/x-cd-image:*.iso
            50:application/x-wii-rom:*.iso
            50:text/x-makefile:makefile
            10:text/x-readme:readme*
            50:text/plain:*.txt
            50:application/x-desktop:*.desktop
            50:text/x-c++src:*.C:cs
            20:application/x-trash:*~
            50:video/x-anim:*.anim[1-9j]
            """.utf8))

    @Test(
        arguments: [
            "a.pdf", "A.PDF", "two.dots.pdf", "a.tar.gz", "a.gz", "Makefile", "notes.txt", "old.odd~", ".pdf",
        ])
    func singleTypeDeterminesName(_ name: String) { #expect(Self.names.settles(name.utf8)) }

    @Test(
        arguments: [
            "", ".", "backup", "a.", "a.dat", "model.xyz", "a.pdf.part", "song.ogg", "disk.iso", "readme.txt",
            "start.desktop", "pdf", "a.anim1",
        ])
    func otherNamesDoNotDetermine(_ name: String) { #expect(!Self.names.settles(name.utf8)) }

    @Test func longNamesAndAllBytesAreParsed() {
        let long = [UInt8](repeating: 0xFF, count: 251) + Array(".pdf".utf8)
        #expect(Self.names.settles(long))
        for byte in UInt8.min...UInt8.max { _ = Self.names.settles([byte, 0x2E, byte]) }
    }

    @Test func knownExtensionsNeedNoDatabase() {
        #expect(TypeNames().settles("a.pdf".utf8))
        #expect(!TypeNames().settles("a.dat".utf8))
        #expect(!TypeNames(globs: Array("::\n:::\n50:x\n\n".utf8)).settles("a".utf8))
    }

    @Test func missingDatabaseIsEmpty() {
        #expect(TypeNames.ofDesktop(dataFolders: "/nowhere:", home: nil).settles("a.pdf".utf8))
    }
}
