# Completion of svc for fish.
function __svc_complete
  set -l words (commandline -opc)
  set -e words[1]
  set -l lines (svc __complete $words (commandline -ct) 2>/dev/null)
  if contains -- :files $lines
    __fish_complete_path (commandline -ct)
  else
    printf '%s\n' $lines
  end
end
complete -c svc -f -a '(__svc_complete)'
