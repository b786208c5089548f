import CLinux

/// The arguments of this program. Available without opening a file, unlike `CommandLine.arguments`, which reads /proc.
public enum ProgramArguments {
    /// The program's own name first.
    public static let all: [String] = {
        var count: Int32 = 0
        guard let list = chatfs_arguments(&count) else { return [] }
        return (0..<Int(count)).compactMap { list[$0].map { String(cString: $0) } }
    }()
}
