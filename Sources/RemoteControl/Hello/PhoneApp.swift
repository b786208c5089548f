import Base
import JSON

/// The phone's description of itself.
public struct PhoneApp: Hashable, Sendable {
    /// Its encoding of alternatives.
    public enum Encoding: String, Hashable, Sendable {
        /// `{"type":"x",…}`: Android and desktop programs.
        case kotlin
        /// `{"_owsf":true,"x":{…}}`: iOS.
        case swift
    }

    /// The common version, not that of the app, which `/version` returns.
    public let version: AppVersion
    /// The user's text, not safe for a terminal.
    public let deviceName: String
    public let encoding: Encoding
    /// Whether it keeps its files encrypted. Encrypt files before storing them then.
    public let encryptsFiles: Bool

    init?(_ json: JSONValue) {
        guard let version = json["appVersion"]?.string.flatMap(AppVersion.init),
            let name = json["deviceName"]?.string,
            let encoding = json["encoding"]?.string.flatMap(Encoding.init(rawValue:)),
            let encryptsFiles = json["encryptFiles"]?.bool
        else { return nil }
        self.version = version
        deviceName = name
        self.encoding = encoding
        self.encryptsFiles = encryptsFiles
    }
}
