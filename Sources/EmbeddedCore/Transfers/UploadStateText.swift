import ChatCore
import FoundationEssentials
import XFTP

/// An upload's state as JSON in its row. Contains keys; secret.
enum UploadStateText {
    static func encode(_ state: UploadState) throws -> [UInt8] {
        Array(try JSONEncoder().encode(state))
    }

    static func decode(_ bytes: [UInt8]) throws(ChatError) -> UploadState {
        // Drop the decoder's error: it could quote keys.
        guard let state = try? JSONDecoder().decode(UploadState.self, from: Data(bytes)) else {
            throw ChatError(.storage, "The saved state of an upload cannot be read.")
        }
        return state
    }
}
