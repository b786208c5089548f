import Glibc
import Posix

/// Finds a secret in all memory of this process, as a reader of a swap disk would: through /proc/self/mem, at any
/// alignment, while other threads continue.
public final class ProcessMemory {
    public struct Place: CustomStringConvertible {
        /// Whether the system keeps this memory from being swapped (`lo` in smaps, proc_pid_smaps(5)).
        public let isLocked: Bool
        /// The line of the mapping: addresses, permissions, file.
        public let mapping: String

        public var description: String { (isLocked ? "locked " : "not locked ") + mapping }
    }

    private static let windowSize = 1 << 20
    /// The secret, followed by the searched memory. Matches in here do not count.
    private let own: UnsafeMutableRawBufferPointer
    private let count: Int

    public init(lookingFor secret: UnsafeRawBufferPointer) throws {
        count = secret.count
        let size = count + Self.windowSize
        let memory = mmap(nil, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0)
        guard let memory, memory != MAP_FAILED else {
            throw SystemError(code: errno, operation: "have memory")
        }
        own = UnsafeMutableRawBufferPointer(start: memory, count: size)
        own.copyMemory(from: secret)
    }

    deinit { munmap(own.baseAddress, own.count) }

    /// Returns every address of the secret.
    public func places() throws -> [Place] {
        let memory = try OpenFile("/proc/self/mem", flags: O_RDONLY)
        var places: [Place] = []
        var seen: UInt = 0
        for (addresses, place) in try Self.mappings() {
            // A mapping that grew while the table was read is listed twice.
            var start = max(addresses.lowerBound, seen)
            seen = max(seen, addresses.upperBound)
            while start < addresses.upperBound {
                let end = min(start + UInt(Self.windowSize), addresses.upperBound)
                let found = occurrences(in: memory, from: start, to: end)
                places += Array(repeating: place, count: found)
                // A match across the end of a window is in the next one.
                start = end < addresses.upperBound ? end - UInt(count - 1) : end
            }
        }
        return places
    }

    private func occurrences(in memory: OpenFile, from start: UInt, to end: UInt) -> Int {
        let window = own.baseAddress! + count
        // A mapping that is gone meanwhile gives nothing.
        let filled = pread(memory.descriptor, window, Int(end - start), off_t(start))
        let ours = UInt(bitPattern: own.baseAddress!)..<UInt(bitPattern: own.baseAddress! + own.count)
        var occurrences = 0
        var position = 0
        // Memory is full of small numbers, so searching for another byte first is faster.
        let rare = own[..<count].indices.max { own[$0] < own[$1] } ?? 0
        while position + count <= filled,
            let hit = memchr(window + position + rare, Int32(own[rare]), filled - count + 1 - position)
        {
            let offset = UnsafeRawPointer(hit) - UnsafeRawPointer(window) - rare
            let isFound = memcmp(window + offset, own.baseAddress!, count) == 0
            if isFound, !ours.contains(start + UInt(offset)) { occurrences += 1 }
            position = offset + 1
        }
        return occurrences
    }

    /// The readable memory, except that of devices and of the kernel, and unchanged files: libraries, this program.
    private static func mappings() throws -> [(addresses: Range<UInt>, place: Place)] {
        let bytes = try OpenFile("/proc/self/smaps", flags: O_RDONLY).read(count: 8 << 20, at: 0)
        var mappings: [(addresses: Range<UInt>, place: Place)] = []
        var header: Substring = ""
        var hasOwnPages = false
        for line in String(decoding: bytes, as: UTF8.self).split(separator: "\n") {
            let words = line.split(separator: " ")
            switch words[0] {
            case "Rss:": hasOwnPages = false
            case "Anonymous:", "Swap:": hasOwnPages = hasOwnPages || words[1] != "0"
            case "VmFlags:" where hasOwnPages: mappings += mapping(header, flags: words)
            case let word where word.contains("-"): header = line
            default: break
            }
        }
        return mappings
    }

    private static func mapping(
        _ header: Substring, flags: [Substring]
    ) -> [(addresses: Range<UInt>, place: Place)] {
        let ends = header.prefix { $0 != " " }.split(separator: "-").compactMap { UInt($0, radix: 16) }
        guard ends.count == 2, flags.contains("rd"), !flags.contains("io"), !flags.contains("pf")
        else { return [] }
        return [(ends[0]..<ends[1], Place(isLocked: flags.contains("lo"), mapping: String(header)))]
    }
}
