import Base
import Glibc
import Posix
import TestSupport
import Testing

@testable import Thumbnails

@Suite("Offering thumbnails")
struct DesktopThumbnailsTests {
    private let files: TemporaryFolder
    private let desktop: DesktopThumbnails

    init() throws {
        files = try TemporaryFolder()
        desktop = DesktopThumbnails(try ThumbnailFolder(path: files.path("thumbnails"), mountpoint: "/mnt"))
    }

    private static func entry(_ number: UInt64) -> ThumbnailFolder.Entry? {
        number % 2 == 0 ? nil : .init(path: Array("bob/\(number)".utf8), number: number)
    }

    private func offer(_ numbers: Range<UInt64>) async {
        await withCheckedContinuation { continuation in
            desktop.offer(Array(numbers)[...], entry: { Self.entry($0) }, done: { continuation.resume() })
        }
    }

    @Test("existing entries are linked and later withdrawn")
    func inTurn() async throws {
        await offer(0..<1_000)
        #expect(try files.names(in: "thumbnails/normal").count == 500)
        desktop.withdraw((0..<500).map { Array("bob/\($0)".utf8) })
        await desktop.finish()
        #expect(try files.names(in: "thumbnails/x-large").count == 250)
        let swept = Lock(false)
        desktop.sweep { offered in
            #expect(offered == ["/mnt"])
            return [.init(mountpoint: "/mnt", since: nil, isLookedForByName: true)]
        } paths: { _ in
        } done: {
            swept.withLock { $0 = true }
        }
        await desktop.finish()
        #expect(swept.withLock { $0 })
        #expect(try files.names(in: "thumbnails/normal").isEmpty)
    }

    @Test("stopping and errors end offering without waits")
    func stopped() async throws {
        try files.write([], to: "thumbnails/normal")
        await offer(0..<1_000)
        unlink(files.path("thumbnails/normal"))
        await offer(0..<10)
        #expect(try files.names(in: "thumbnails").filter { !$0.hasPrefix(".") }.isEmpty)
        desktop.stopOffering()
        await offer(0..<10)
        #expect(try files.names(in: "thumbnails").filter { !$0.hasPrefix(".") }.isEmpty)
    }
}
