import ChatCore
import FoundationEssentials
import XFTP

/// The state of an upload as its row keeps it: JSON. Holds keys: a secret.
enum UploadStateText {
    static func encode(_ state: UploadState) throws -> [UInt8] {
        Array(try JSONEncoder().encode(state))
    }

    static func decode(_ bytes: [UInt8]) throws(ChatError) -> UploadState {
        // What was wrong with it would hold a part of it, and it holds keys.
        guard let state = try? JSONDecoder().decode(UploadState.self, from: Data(bytes)) else {
            throw ChatError(.storage, "The saved state of an upload cannot be read.")
        }
        return state
    }
}
