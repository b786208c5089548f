import Base
import Configuration
import Posix

/// Examines the systemd units of the configuration's mounts.
enum ServiceExamination {
    static func findings() async -> [Finding] {
        let configuration = await ThreadPool.shared.run { Result { try ConfigurationAccess.read() } }
        let mounts: [String]
        switch configuration {
        case .success(let found): mounts = found.mounts.map(\.name)
        case .failure(let error):
            // An unknown key may contain the name of a chat.
            let reason = sentence(of: error)
            return [.bad("the configuration cannot be used: \(reason)", naming: [reason])]
        }
        guard !mounts.isEmpty, let services = try? await UserServices.found() else { return [] }
        var findings: [Finding] = []
        for mount in mounts {
            guard let state = try? await services.state(of: mount) else { continue }
            findings += [finding(of: state, mount: mount)].compactMap(\.self)
        }
        return findings
    }

    /// Returns nil for a mount without an enabled or failed unit.
    static func finding(of state: ServiceState, mount: String) -> Finding? {
        switch state.active {
        case "failed":
            .failed("the service of \(mount): \(state.words)", naming: [mount])
        case "active" where state.isEnabled: .good("the service of \(mount) runs", naming: [mount])
        case "inactive" where state.isEnabled:
            .note("the service of \(mount) does not run: 'chatfs service start \(mount)'", naming: [mount])
        default: nil
        }
    }
}
