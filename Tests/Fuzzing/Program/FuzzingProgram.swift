import CLibFuzzer
import Glibc

/// Runs one decoder under libFuzzer. The environment selects it, so that all arguments belong to libFuzzer, also when
/// it restarts itself. Use it through `contrib/fuzz`.
@main
struct FuzzingProgram {
    static let variable = "CHATFS_FUZZ_TARGET"

    static func main() {
        if CommandLine.arguments.dropFirst().first == "--list" {
            for target in Target.all { print("\(target.name)\t\(target.longest)\t\(target.subject)") }
            return
        }
        guard chosen != nil else {
            print("\(variable) names no target; --list shows them.")
            exit(64)
        }
        var count = CommandLine.argc
        var arguments: UnsafeMutablePointer<UnsafeMutablePointer<CChar>?>? = CommandLine.unsafeArgv
        exit(
            LLVMFuzzerRunDriver(&count, &arguments) { bytes, count in
                chosen?.run(Array(UnsafeBufferPointer(start: bytes, count: count)))
                return 0
            })
    }
}

private let chosen: Target? = {
    guard let name = getenv(FuzzingProgram.variable).map({ String(cString: $0) }) else { return nil }
    return Target.all.first { $0.name == name }
}()
