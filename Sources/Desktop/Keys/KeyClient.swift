import Base
import Cryptography
import Glibc
import Posix

/// A command's end of the key sockets of a data directory's processes: its mounts and the agent of `chatfs unlock`. All
/// calls block, at most three seconds for each process.
public enum KeyClient {
    /// A process that holds the key.
    public struct Holder: Hashable, Sendable {
        public let process: Int32
        /// nil if the process does not answer.
        public let kind: KeyHolding.Holder?
        /// Seconds until it forgets the key; nil if it has no time limit.
        public let seconds: Int64?
    }

    /// Returns the key from the first process that provides it.
    /// - Parameter dataFolder: Absolute path of the data directory.
    public static func key(of dataFolder: String) -> SecretBytes? {
        for (_, channel) in KeyFolder.holders(in: dataFolder) {
            guard (try? head(.key, channel)) != nil,
                let key = try? SecretBytes(
                    upTo: KeyMessage.keyLength,
                    fill: { (memory: UnsafeMutableRawBufferPointer) throws(DesktopError) -> Int in
                        try channel.fill(memory)
                        return KeyMessage.keyLength
                    })
            else { continue }
            return key
        }
        return nil
    }

    /// Returns all processes that hold the key.
    public static func holders(of dataFolder: String) -> [Holder] {
        ask(.state, dataFolder).filter { $0.kind != nil }
    }

    /// Makes agents forget the key.
    /// - Returns: The processes that still hold it, or may hold it because they do not answer.
    public static func lock(_ dataFolder: String) -> [Holder] { ask(.lock, dataFolder) }

    private static func ask(_ request: KeyMessage.Request, _ dataFolder: String) -> [Holder] {
        KeyFolder.holders(in: dataFolder).compactMap { (process, channel) -> Holder? in
            do throws(DesktopError) {
                return try head(request, channel).map {
                    Holder(process: process, kind: $0.holder, seconds: $0.seconds)
                }
            } catch {
                // An ending agent has no key.
                guard KeyFolder.isListening(process, in: dataFolder) else { return nil }
                return Holder(process: process, kind: nil, seconds: nil)
            }
        }
    }

    private static func head(
        _ request: KeyMessage.Request, _ channel: ControlChannel
    ) throws(DesktopError) -> (holder: KeyHolding.Holder, seconds: Int64?)? {
        try channel.writeBytes([request.rawValue])
        var head = [UInt8](repeating: 0, count: KeyMessage.headLength)
        try head.withUnsafeMutableBufferPointer { (bytes) throws(DesktopError) in
            try channel.fill(UnsafeMutableRawBufferPointer(bytes))
        }
        return KeyMessage.holder(in: head)
    }
}
