-- Archives that are being written and that nothing refers to yet. `life` names the start of the gateway that writes
-- them: what is left of an earlier life belongs to nobody.
CREATE TABLE loose_archives (
    path {TEXT} PRIMARY KEY,
    pid {TEXT} NOT NULL,
    life {TEXT} NOT NULL
) {STRICT};
