import Testing

@testable import XFTP

@Suite("Upload progress")
struct UploadProgressTests {
    @Test("a chunk is complete after the relay's confirmation")
    func confirmed() {
        let bytes = UnconfirmedBytes()
        var counted = 0
        for _ in 0..<64 { counted += bytes.left(65_536) }
        #expect(counted == 3 << 20)
        counted += bytes.confirmed(4 << 20)
        #expect(counted == 4 << 20)
    }

    @Test("failed attempts are subtracted")
    func takenBack() {
        let bytes = UnconfirmedBytes()
        var counted = bytes.left(100_000)
        counted += bytes.left(-100_000)
        #expect(counted == 0)
        counted += bytes.left(40_000)
        counted += bytes.confirmed(262_144)
        #expect(counted == 262_144)
    }
}
