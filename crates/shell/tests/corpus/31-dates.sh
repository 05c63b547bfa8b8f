#### epoch-formats
date -u -d @0 '+%Y-%m-%d %H:%M:%S'; date -u -d @1704276000 '+%a %b %e %j %U %y %I %p'; date -u -d @1704276000 +%s; date -u -d @1704276000 '+%F %T %D %R'
#### default-and-iso
date -u -d @1704276000; date -u -d @1704276000 -Iseconds; date -u -d @1704276000 -I; date -u -d @1704276000 -R; date -u -d @1704276000 --iso-8601=minutes; date -u -d @0 --rfc-3339=seconds
#### parse
date -u -d '2024-02-29' +%s; date -u -d '2024-01-31 12:34:56' +%H:%M; date -u -d '2024-01-31T12:34:56Z' +%s; date -d 'Jan 5 2024' +%F; date -d '5 January 2024' +%F; date -d '2024/03/04' +%F
#### relative
date -u -d '2024-01-31 +1 day' +%F; date -u -d '2024-03-01 -1 day' +%F; date -u -d '2024-01-31 +1 month' +%F; date -u -d '2024-01-01 +2 weeks' +%F; date -u -d '2024-01-01 12:00 UTC + 3 hours' +%T; date -u -d '2024-01-01 next year' +%F
#### bad
date -d 'not a date'; echo $?; date -u -d '2024-13-45' +%F; echo $?
#### weekday-and-padding
date -u -d 2024-01-07 '+%A %u %w'; date -u -d 2024-01-07 '+%-d %-m %_d %e %k %l'; date -u -d 2024-01-07 '+%B %^a %C %G-W%V'; date -u -d @1.5 +%N | cut -c1-3
#### difference-in-days
a=$(date -u -d 2024-01-01 +%s); b=$(date -u -d 2024-03-01 +%s); echo $(((b-a)/86400)); for i in 0 1 2; do date -u -d "2024-02-27 +$i days" +%d; done
#### timezone
TZ=America/New_York date -d @1704276000 '+%H:%M %Z %z'; TZ=Asia/Tokyo date -d @0 '+%F %T'; TZ=Europe/Berlin date -d '2024-07-01 12:00' +%s; date -u +%Z
#### now-is-sane
[ "$(date +%s)" -gt 1700000000 ] && echo ok; [ "$(date +%Y)" -ge 2024 ] && echo ok; date +%N | grep -cE '^[0-9]{9}$'; [ "$(date +%F)" = "$(date +%Y-%m-%d)" ] && echo same
#### file-date
date -u -r notes.txt '+%F %T'; touch -d '2020-02-02 02:02:02' f; date -u -r f +%s
#### sleep-forms
sleep 0.01; echo $?; sleep 0; echo $?; sleep x 2>/dev/null; echo $?; sleep 0.01s; echo $?
#### leap-years
for y in 1900 2000 2023 2024; do if ((y%4==0&&y%100!=0||y%400==0)); then echo "$y leap"; else echo "$y no"; fi; done
#### cal-of-month
d=$(date -u -d '2024-02-01' +%u); n=$(date -u -d '2024-02-01 +1 month -1 day' +%d); echo "$d $n"
#### log-bucket-by-minute
grep -oE '10:[0-9]{2}' access.log | sort | uniq -c | awk '{print $2, $1}'
