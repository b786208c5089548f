import Glibc

/// The pipes of other processes, as proc(5) tells.
public enum ProcessPipes {
    /// What the pipes are called that a process has open; none where it cannot be seen. Reads links only: waits for
    /// nobody, whatever the process has open.
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
