import Glibc
import Posix
import Testing

@testable import FileSystem

@Suite("Type detection at open")
struct TypeDetectionTests {
    private static let large: UInt64 = 1 << 20
    private static let gio = ProgramTraits(loadsGIO: true)
    private static let window = ProgramTraits(loadsQt: true, showsFolder: true)
    private static let worker = ProgramTraits(loadsQt: true, showsFolder: true, isWorker: true)

    private static func verdict(
        _ flags: Int32, settled: Bool = false, size: UInt64 = large, by program: ProgramTraits?
    ) -> TypeDetection.Verdict {
        TypeDetection.verdict(flags: flags, nameSettlesType: settled, size: size, by: program)
    }

    private static let noAccessTime = O_RDONLY | TypeDetection.noAccessTime

    @Test func gioIsKnownByItsFlag() {
        for settled in [true, false] {
            #expect(Self.verdict(Self.noAccessTime, settled: settled, by: Self.gio) == .detection)
            #expect(Self.verdict(O_RDONLY, settled: settled, by: Self.gio) == .reader)
        }
        #expect(Self.verdict(Self.noAccessTime, size: 10, by: Self.gio) == .detection)
    }

    @Test func otherNoAccessTimeReadersDecideByReading() {
        for program in [nil, ProgramTraits(), Self.window] {
            #expect(Self.verdict(Self.noAccessTime, by: program) == .byFirstRead(limit: 16_384))
            #expect(Self.verdict(Self.noAccessTime, size: 16_384, by: program) == .reader)
        }
    }

    @Test func qtWindowShowingTheFolderDetects() {
        #expect(Self.verdict(O_RDONLY, by: Self.window) == .detection)
        #expect(Self.verdict(O_RDONLY, settled: true, by: Self.window) == .reader)
        #expect(Self.verdict(O_RDONLY, by: ProgramTraits(loadsQt: true)) == .reader)
        #expect(Self.verdict(O_RDONLY, by: ProgramTraits(showsFolder: true)) == .reader)
        #expect(Self.verdict(O_RDONLY, by: nil) == .reader)
    }

    @Test func copyingThreadOfWindowDecidesByReading() {
        #expect(Self.verdict(O_RDONLY, by: Self.worker) == .byFirstRead(limit: 32_768))
        #expect(Self.verdict(O_RDONLY, size: 32_768, by: Self.worker) == .reader)
        #expect(Self.verdict(O_RDONLY, settled: true, by: Self.worker) == .reader)
    }

    @Test func programsAreInspectedOnlyIfNeeded() {
        #expect(!TypeDetection.dependsOnProgram(flags: O_RDONLY, nameSettlesType: true))
        #expect(TypeDetection.dependsOnProgram(flags: O_RDONLY, nameSettlesType: false))
        #expect(TypeDetection.dependsOnProgram(flags: Self.noAccessTime, nameSettlesType: true))
    }
}

@Suite("Type detection by the first read")
struct FirstReadTests {
    private static func read(_ read: inout FirstRead, at offset: UInt64, _ count: Int) -> FirstRead.Action {
        read.read(at: offset, count: count)
    }

    @Test func shortReadAtBeginningDetects() {
        var read = FirstRead(limit: 16_384)
        #expect(Self.read(&read, at: 0, 16_384) == .onlyWhatIsHere)
        // The kernel repeats a failed read of one page.
        #expect(Self.read(&read, at: 0, 4096) == .onlyWhatIsHere)
        #expect(read.purpose == .detecting)
    }

    @Test func anyOtherReadBegins() {
        for (offset, count) in [(UInt64(0), 16_385), (4096, 4096), (1, 1)] {
            var read = FirstRead(limit: 16_384)
            #expect(Self.read(&read, at: offset, count) == .begin)
            #expect(Self.read(&read, at: 0, 1) == .serve)
            #expect(read.purpose == .reading)
        }
    }

    @Test func readingOnEndsDetection() {
        for isDetection in [true, false] {
            var read = FirstRead(limit: 100, isDetection: isDetection)
            #expect(Self.read(&read, at: 0, 100) == .onlyWhatIsHere)
            #expect(Self.read(&read, at: 100, 100) == .begin)
            #expect(Self.read(&read, at: 0, 100) == .serve)
        }
    }

    @Test func withoutLimitEveryReadBegins() {
        var read = FirstRead(limit: 0)
        #expect(Self.read(&read, at: 0, 1) == .begin)
    }
}
