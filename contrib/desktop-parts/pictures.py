"""The files that contrib/desktop sends."""

import os

from stage import run

# In every file that is sent, so that it is found wherever it is left.
MARKER = "marker-7f3a91c2"


def draw(folder):
    """60 pictures of about 1 MB, 3 videos of 15 to 50 MB, 5 PDFs and 5 texts."""
    os.makedirs(folder)
    for number in range(60):
        kind = ["linear", "radial", "circular", "spiral"][number % 4]
        run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i",
             f"gradients=size=1600x1200:n=5:seed={number + 1}:type={kind},format=yuv420p,noise=alls=14",
             "-frames:v", "1", "-q:v", "2",
             "-metadata", "comment=" + MARKER, f"{folder}/holiday {number + 1:02}.jpg"])
        with open(f"{folder}/holiday {number + 1:02}.jpg", "ab") as file:
            file.write(MARKER.encode())
    for number in range(3):
        run(["ffmpeg", "-nostdin", "-v", "error", "-f", "lavfi", "-i",
             f"testsrc2=size=1280x720:rate=25:duration={3 * (number + 1)},noise=alls=14:allf=t", "-c:v", "mpeg4", "-q:v",
             "5", "-metadata", "title=" + MARKER, f"{folder}/film {number + 1}.mp4"])
    for number in range(5):
        body = f"BT /F1 24 Tf 72 720 Td ({MARKER} page) Tj ET".encode()
        objects = [b"<</Type/Catalog/Pages 2 0 R>>", b"<</Type/Pages/Kids[3 0 R]/Count 1>>",
                   b"<</Type/Page/Parent 2 0 R/MediaBox[0 0 595 842]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
                   b"<</Length %d>>stream\n%s\nendstream" % (len(body), body),
                   b"<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>",
                   b"<</Length 600000>>stream\n%s\nendstream" % os.urandom(600000)]
        data = b"%PDF-1.4\n"
        places = []
        for index, text in enumerate(objects):
            places.append(len(data))
            data += b"%d 0 obj %s endobj\n" % (index + 1, text)
        table = b"".join(b"%010d 00000 n \n" % place for place in places)
        data += (b"xref\n0 %d\n0000000000 65535 f \n%s" % (len(objects) + 1, table)
                 + b"trailer <</Size %d/Root 1 0 R>>\nstartxref\n%d\n%%%%EOF\n" % (len(objects) + 1, len(data)))
        with open(f"{folder}/paper {number + 1}.pdf", "wb") as file:
            file.write(data)
        with open(f"{folder}/notes {number + 1}.txt", "w") as file:
            file.write((MARKER + " some words that nobody else should read\n") * 9000)
