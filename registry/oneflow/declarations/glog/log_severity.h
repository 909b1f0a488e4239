// The part of this header that glog's logging.h needs; OneFlow's wheel has logging.h but not this header.
#pragma once

using LogSeverity = int;

enum : int { GLOG_INFO, GLOG_WARNING, GLOG_ERROR, GLOG_FATAL, NUM_SEVERITIES };

constexpr int INFO = GLOG_INFO;
constexpr int WARNING = GLOG_WARNING;
constexpr int ERROR = GLOG_ERROR;
constexpr int FATAL = GLOG_FATAL;
