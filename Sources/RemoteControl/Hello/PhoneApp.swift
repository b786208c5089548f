import Base
import JSON

/// What the phone says of itself.
public struct PhoneApp: Hashable, Sendable {
    /// How it writes answers.
    public enum Encoding: String, Hashable, Sendable {
        /// `{"type":"x",…}`: Android and the programs for computers.
        case kotlin
        /// `{"_owsf":true,"x":{…}}`: iOS.
        case swift
    }

    /// The one that both sides know, not the version of the app, which `/version` tells.
    public let version: AppVersion
    /// As the phone's user wrote it: not fit for a terminal as it is.
    public let deviceName: String
    public let encoding: Encoding
    /// Whether it keeps its files encrypted. Then files are to be encrypted before they are stored there.
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
