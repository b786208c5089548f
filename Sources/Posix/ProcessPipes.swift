import Glibc

/// The pipes of other processes, from proc(5).
public enum ProcessPipes {
    /// Returns the names of a process's open pipes; none if it is not visible. Reads only links, so it never waits.
    public static func identifiers(of process: pid_t) -> Set<String> {
        guard process > 0 else { return [] }
        let folder = "/proc/\(process)/fd"
        var found: Set<String> = []
        for name in ProcessInformation.names(in: folder) {
            var buffer = [CChar](repeating: 0, count: 64)
            let count = readlink(folder + "/" + name, &buffer, buffer.count)
            guard count > 0 else { continue }
            let text = String(decoding: buffer[..<count].lazy.map { UInt8(bitPattern: $0) }, as: UTF8.self)
            if text.hasPrefix("pipe:[") { found.insert(text) }
        }
        return found
    }
}
