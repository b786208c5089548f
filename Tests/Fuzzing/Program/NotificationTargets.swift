import Base
import ChatCore

@testable import MessageBus
@testable import Notifications

extension Target {
    /// Desktop notifications and their stored state.
    static let notifications = [
        Target("notification", "names and captions as notifications", longest: 1280) { bytes in
            var input = Input(bytes)
            let preview = NotificationPreview.allCases[input.number(below: 3)]
            let subject = NotificationSubject.allCases[
                input.number(below: NotificationSubject.allCases.count)]
            let (escaping, together, count) = (input.bool(), input.bool(), input.number(below: 5) + 1)
            let (chat, name, sender, why) = (input.text(), input.text(), input.text(), input.text())
            let caption = String(decoding: input.rest(), as: UTF8.self)
            let request = RefusedRequest(why, subject: name, chatName: chat)
            var group = NotificationGroup(
                .init(
                    chat: together ? nil : .direct(1), subject: subject,
                    refusal: subject == .refusal ? request : nil), since: .now)
            for id in 1...count where subject != .refusal {
                let file = NotifiedFile(
                    .item(ItemID(Int64(id))), in: .direct(1), named: chat, name: name, sender: sender,
                    caption: caption)
                group.add(file, relays: [why], why: why)
            }
            let text = NotificationComposer(preview: preview, escapesMarkup: escaping).text(of: group)
            hold(!text.summary.isEmpty, "a notification has a title")
            hold(text.summary.utf8.count <= NotificationText.maxSummary, "titles have bounds")
            hold(text.body.utf8.count <= NotificationText.maxBody, "texts have bounds")
            let scalars = (text.summary + text.body).unicodeScalars
            hold(
                scalars.allSatisfy { $0 == "\n" || $0.properties.generalCategory != .control },
                "nothing moves a cursor")
            hold(scalars.allSatisfy { !$0.properties.isBidiControl }, "nothing changes the direction of text")
            hold(!escaping || !text.body.contains("<"), "nothing becomes markup")
            let hidden = SecretText.hiding(caption)
            hold(SecretText.hiding(hidden).utf8.count <= hidden.utf8.count, "hiding never adds")
            let show = BusRequest.show(token: 1, text)
            guard let frame = BusFrame.framed(show.encoded) else {
                return hold(false, "every text goes through the pipe")
            }
            hold(BusRequest(encoded: Array(frame[4...])) != nil, "every text is understood")
        },
        Target("told", "what users were told, as it is kept", longest: 2048) { bytes in
            guard let told = NotificationRecord(bytes.text) else { return }
            hold(NotificationRecord(told.text) == told, "what is written is read as the same")
            hold(told.others.count <= NotificationRecord.maxOthers, "what is kept has bounds")
        },
        Target("bus-frame", "what the processes on a bus say", longest: 512) { bytes in
            var frames = BusFrames()
            frames.add(bytes)
            while let frame = frames.next(), !frame.isEmpty {
                if let answer = NotificationAnswer(encoded: frame) {
                    hold(
                        NotificationAnswer(encoded: answer.encoded) == answer, "answers have one form"
                    )
                }
                if let request = BusRequest(encoded: frame) {
                    hold(BusRequest(encoded: request.encoded) == request, "requests have one form")
                }
                if let notice = SystemNotice(encoded: frame) {
                    hold(notice.encoded == frame, "notices have one form")
                }
            }
        },
    ]
}
