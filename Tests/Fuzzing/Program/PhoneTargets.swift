import Base
import Cryptography
import JSON
import Network

@testable import RemoteControl

extension Target {
    /// Transmissions of a phone.
    static let phone = [
        Target("phone-hello", "greetings of phones", longest: 4096) { bytes in
            var input = Input(bytes)
            guard input.bool() else {
                // As received, padded to its size.
                var block = input.rest()
                block += [UInt8](repeating: 0x23, count: HelloBlock.size - min(block.count, HelloBlock.size))
                hold(PhoneFixture.open(block) == nil, "nobody else's greeting is read")
                return
            }
            // The content of the box.
            guard let hello = PhoneFixture.open(PhoneFixture.block(of: input.rest())) else { return }
            hold(hello.kemKey.count == Sntrup761.publicKeyLength, "keys have one length")
            hold(PhoneFixture.versions.contains(hello.app.version), "the version is one of those offered")
        },
        Target("phone-answer", "answers of phones, decrypted and not", longest: 2048) { bytes in
            var input = Input(bytes)
            let (isSealed, size, number) = (input.bool(), Int(input.byte()) + 1, UInt32(input.byte()))
            let text = input.some()
            let rest = input.rest()
            let whole = isSealed ? PhoneFixture.answer(number, text) + rest : text + rest
            let (first, second) = (
                PhoneFixture.read(whole, pieces: whole.count), PhoneFixture.read(whole, pieces: size)
            )
            hold(first == second, "it does not matter in which pieces bytes come")
            if let first, isSealed { hold(first.json == text, "what was sealed is read") }
        },
        Target("phone-json", "what phones answer, in both forms", longest: 4096) { bytes in
            if let tagged = OneFieldObjects.tagged(bytes) {
                hold(JSONValue.parse(bytes) == nil || JSONValue.parse(tagged) != nil, "JSON stays JSON")
            }
            _ = try? PhoneAnswer(bytes)
            _ = AppVersion(bytes.text)
        },
        Target("phone-command", "commands that a phone may be sent", longest: 512) { bytes in
            guard let command = try? PhoneCommand(bytes.text, isAsked: true) else { return }
            hold(command.text == bytes.text, "a command is what was checked")
            hold(PhoneCommand.table.contains { command.text.hasPrefix($0.name) }, "it is in the table")
            hold(command.text.utf8.allSatisfy { $0 >= 0x20 && $0 != 0x7F }, "it is one line")
            hold(
                (try? PhoneRequest.command(command, retry: 0).json()).flatMap(JSONValue.parse) != nil, "JSON")
        },
    ]
}

/// A session between this side and a simulated phone.
private enum PhoneFixture {
    static let versions = AppVersionRange(AppVersion("6.3")!, AppVersion("7.0")!)!
    private static let key = AgreementKey.generate()
    private static let phoneKey = AgreementKey.generate()
    private static let secret = WipedBytes([UInt8](repeating: 7, count: 32))
    private static let channelBinding = [UInt8](repeating: 5, count: 32)
    private static let authority = [UInt8](repeating: 9, count: 32)

    static func open(_ block: [UInt8]) -> PhoneHello? {
        try? PhoneHello(block, key: key, authority: authority, versions: versions)
    }

    static func block(of text: [UInt8]) -> [UInt8] {
        let nonce = [UInt8](repeating: 1, count: MessageBox.nonceLength)
        guard let shared = try? phoneKey.wipedSecret(with: key.publicKey),
            let box = MessageBox.seal(text, paddedTo: HelloBlock.contentSize, key: shared, nonce: nonce)
        else { return [] }
        var content = HelloBlock.mark
        content.append(byteString: phoneKey.publicKey)
        return Padding.pad(content + nonce + box, to: HelloBlock.size) ?? []
    }

    private static func chain() -> ReceivingChain {
        ReceivingChain(MessageChain.begin(agreement: secret, encapsulated: secret).receiving)
    }

    /// As a phone sends it, without an attachment.
    static func answer(_ number: UInt32, _ text: [UInt8]) -> [UInt8] {
        var chain = chain()
        guard let keys = try? chain.keys(of: number), var box = try? StreamBox.opening(keys.body) else {
            return []
        }
        var plain: [UInt8] = []
        plain.append(byteString: channelBinding)
        plain += text
        plain.withUnsafeMutableBytes { box.seal($0) }
        var bytes: [UInt8] = []
        bytes.append(bigEndian: number)
        bytes.append(bigEndian: UInt32(plain.count + StreamBox.tagLength))
        return bytes + plain + box.tag()
    }

    struct Answer: Equatable {
        var json: [UInt8] = []
        var size: UInt64?
        var content: [UInt8] = []
    }

    /// Nil if it is refused or incomplete.
    static func read(_ bytes: [UInt8], pieces: Int) -> Answer? {
        var (reader, chain, answer) = (ResponseReader(channelBinding: channelBinding), chain(), Answer())
        do {
            try bytes.inPieces(of: pieces) { piece in
                try reader.receive(piece, keys: { try chain.keys(of: $0) }) { part in
                    switch part {
                    case .json(let text): answer.json = text
                    case .attachment(let size): answer.size = size
                    case .content(let bytes): answer.content += bytes
                    }
                }
            }
            try reader.finish()
            return answer
        } catch {
            return nil
        }
    }
}
